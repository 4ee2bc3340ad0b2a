// tsr-opt: reads IR of any level, runs passes on it and prints it. For tests and for examining single passes.
#include "compiler/codegen/TargetBackend.h"
#include "compiler/pipeline/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tessera::graph::GraphDialect, tessera::schedule::ScheduleDialect,
                  tessera::tile::TileDialect, tessera::target::TargetDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  mlir::registerTransformsPasses();
  tessera::registerPasses();
  for (const tessera::codegen::TargetBackend *backend : tessera::codegen::targetBackends()) {
    backend->registerDialects(registry);
    backend->registerPasses();
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Tessera's IR tool\n", registry));
}
