// The passes of phase 7 that GPUs share, in the order of GpuTarget.cpp. Each has a target as its option.
#ifndef TESSERA_GPU_PASSES
#define TESSERA_GPU_PASSES
include "mlir/Pass/PassBase.td"

def GpuLowerTile : Pass<"gpu-lower-tile", "::mlir::ModuleOp"> {
  let summary = "Lowers tile kernels to a gpu.module in which a thread block runs a program";
  let description = [{
    Every `tile.kernel` becomes a `gpu.func` of its name in one `gpu.module`, with its metadata as the attribute
    `target.metadata`. Graph functions, which only the host needs, are removed.
  }];
  let options = [Option<"target", "target", "std::string", "", "GPU, as in VENDOR:ARCHITECTURE">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def GpuExpandRemainders : Pass<"gpu-expand-remainders", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Computes exact remainders of floats, for which GPUs have no instruction";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def GpuMinMax : Pass<"gpu-min-max", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Computes minima and maxima of f32 by the device's instructions, if a NaN wins in them";
  let options = [Option<"target", "target", "std::string", "", "GPU, as in VENDOR:ARCHITECTURE">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def GpuToLlvm : Pass<"gpu-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Converts thread programs to a vendor's flavour of the LLVM dialect";
  let options = [Option<"target", "target", "std::string", "", "GPU, as in VENDOR:ARCHITECTURE">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def GpuWrapTarget : Pass<"gpu-wrap-target", "::mlir::ModuleOp"> {
  let summary = "Gathers kernels and their shared memory in a target.module";
  let description = [{
    Each function that has metadata gets a `target.kernel_info` with it. The module carries triple, processor and features,
    which code generation reads.
  }];
  let options = [Option<"target", "target", "std::string", "", "GPU, as in VENDOR:ARCHITECTURE">];
  let dependentDialects = ["::tessera::target::TargetDialect"];
}

#endif
