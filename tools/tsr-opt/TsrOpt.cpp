// tsr-opt: reads IR of any level, runs passes on it, prints it. For tests and for looking at single passes.
#include "compiler/pipeline/Passes.h"
#include "compiler/pipeline/Vendors.h"
#include "compiler/target/gpu/Lowering.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "plugins/cpu/codegen/Lowering.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tessera::graph::GraphDialect, tessera::schedule::ScheduleDialect,
                  tessera::tile::TileDialect, tessera::target::TargetDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  for (const tessera::gpu::Vendor *vendor : tessera::gpuVendors())
    vendor->registerDialects(registry);
  mlir::registerTransformsPasses();
  tessera::registerTesseraPasses();
  tessera::cpu::registerCpuPasses();
  tessera::gpu::registerGpuPasses();
  tessera::registerGpuPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Tessera's IR tool\n", registry));
}
