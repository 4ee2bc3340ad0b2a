// The CPU's passes of phase 7, in the order of CpuBackend.cpp.
#ifndef TESSERA_CPU_PASSES
#define TESSERA_CPU_PASSES
include "mlir/Pass/PassBase.td"

def CpuPrivatize : Pass<"cpu-privatize", "::tessera::tile::KernelOp"> {
  let summary = "Gives relaxed additions to small tensors a table in scratch";
  let description = [{
    An update whose old value is not used goes to a private table of the thread, which is added to the tensor once, at the
    end. A few updates at constant indices stay in registers. Runs after `tile-plan-memory`: the tables are placed after
    the tiles in scratch, so the tiles' offsets must be final.
  }];
}

def CpuLowerTile : Pass<"cpu-lower-tile", "::mlir::ModuleOp"> {
  let summary = "Lowers tile kernels to loops over vectors for one CPU thread";
  let description = [{
    Every `tile.kernel` becomes a `func.func` of its name with its metadata as the attribute `target.metadata`. Needs the
    vector width that `tile-vectorize` chose. Graph functions, which only the host needs, are removed.
  }];
  let options = [
    Option<"targetName", "target", "std::string", "\"cpu\"", "the target's name in the metadata">,
    ListOption<"bodies", "bodies", "std::string", "DTYPE=BODY: the bodies of products (default: of the dtype's name)">,
    ListOption<"chainBodies", "chain-bodies", "std::string", "DTYPE=BODY: those of kernels whose profile has fixed_reductions (default: the same)">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def CpuOutline : Pass<"cpu-outline", "::mlir::ModuleOp"> {
  let summary = "Cuts large functions into private ones of bounded size";
  let description = [{
    LLVM's time grows faster than the size of a function. Runs after `cpu-lower-tile`, before functions of mathematics
    expand.
  }];
  let options = [
    Option<"large", "large", "int64_t", "12000", "a function with at most this many operations is not cut">,
    Option<"part", "part", "int64_t", "3000", "the least number of operations of a part; the last part of a block may have a quarter of it">
  ];
}

def CpuExpandFma : Pass<"cpu-expand-fma", "::mlir::ModuleOp"> {
  let summary = "Computes fma without the instruction";
  let description = [{
    For processors without FMA, so that no library function is called (numerics/functions/Fma.h): f32 in place, f64 by a
    call of a private function for each vector type. Runs after `tile-expand-math`, whose sequences contain `math.fma`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def CpuExpandMinMax : Pass<"cpu-expand-minmax", "::mlir::ModuleOp"> {
  let summary = "Computes minima and maxima of whole AVX-512 vectors by vrange";
  let description = [{
    Only of vectors of 64 bytes, on x86 with AVX512DQ. `tile-expand-minmax` expands the others.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def CpuExpandScaling : Pass<"cpu-expand-scaling", "::mlir::ModuleOp"> {
  let summary = "Multiplies AVX-512 vectors by powers of two by vscalef";
  let description = [{
    Of vectors of whole 64 bytes, on x86 with AVX-512. Replaces the two multiplications in which the sequences of `exp` and
    `exp2` end, with the same bits. Runs after `tile-expand-math`, which makes them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def CpuExpandDivision : Pass<"cpu-expand-division", "::mlir::ModuleOp"> {
  let summary = "Divides vectors of integers by dividing floats";
  let description = [{
    Quotients and remainders of vectors of at most 32 bits by values that are not constants, exactly, through f32 or f64. Runs
    after `arith-expand`, which makes floor divisions of these.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CpuToLlvm : Pass<"cpu-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Converts functions of vector, arith, math and cf operations to the LLVM dialect";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CpuWrapTarget : Pass<"cpu-wrap-target", "::mlir::ModuleOp"> {
  let summary = "Gathers the lowered functions in a target.module";
  let description = [{
    Each function that has metadata gets a `target.kernel_info` with it. The module carries triple, CPU and features, which
    code generation reads.
  }];
  let options = [Option<"cpu", "cpu", "std::string", "\"\"", "the CPU, as LLVM names it; empty: the host's">,
                 Option<"triple", "triple", "std::string", "\"\"", "the triple of a machine that is not a target of this backend; empty: the CPU's">,
                 Option<"features", "features", "std::string", "\"\"", "the features of that machine, as LLVM names them">,
                 Option<"vectorBytes", "vector-bytes", "int64_t", "16", "the size of a vector register of that machine">];
  let dependentDialects = ["::tessera::target::TargetDialect"];
}

#endif
