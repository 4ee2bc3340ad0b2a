// The passes of Target IR, in the order of the pipeline.
#ifndef TESSERA_TARGET_PASSES
#define TESSERA_TARGET_PASSES
include "mlir/Pass/PassBase.td"

def TargetLimitSize : Pass<"target-limit-size", "::mlir::ModuleOp"> {
  let summary = "Refuses programs that would become too much code";
  let description = [{
    What follows, LLVM above all, takes time and memory that grow with the code, and faster than it. A function of mathematics
    counts as the fifty operations it expands to. The error is E_IR_SIZE, at the kernel with the largest share.
  }];
  let options = [Option<"limit", "limit", "int64_t", "500000", "operations a module may have">];
}

def TargetDescribeFunctions : Pass<"target-describe-functions", "::mlir::ModuleOp"> {
  let summary = "Makes metadata with a host plan of every graph function";
  let dependentDialects = ["::tessera::target::TargetDialect"];
  let options = [Option<"targetName", "target", "std::string", "\"cpu\"", "the target's name in the metadata">];
}

#endif
