// The pass that makes host code of a GPU's Target IR.
#ifndef TESSERA_EMULATE_PASSES
#define TESSERA_EMULATE_PASSES
include "mlir/Pass/PassBase.td"

def TargetEmulate : Pass<"target-emulate", "::mlir::ModuleOp"> {
  let summary = "Turns a GPU's Target IR into host functions that call the emulator";
  let description = [{
    A kernel becomes `void KERNEL(const uint64_t *values)`: what one lane does, with the launch values in memory. Operations of
    the vendor become calls `tsr_emu_*` (emulator/Calls.cpp): coordinates, barriers, exchanges within a warp, shared memory. The calls
    that can fail have the number of their site, a line of the table `tsr_emu_sites` with place and name of the operation.
    With `check` a call precedes every access to memory that other lanes see. An operation that the emulator does not know is
    refused by name.
  }];
  let options = [Option<"check", "check", "bool", "false", "report accesses to the checker">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
