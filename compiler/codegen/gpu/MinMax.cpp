// gpu-min-max: minima and maxima of f32 where the device has one instruction for each.
//
//   %r = arith.maximumf %x, %y : vector<8xf32>   ->   %r = llvm.intr.maximum(%x, %y)
//
// LLVM's intrinsics are IEEE 754-2019's operations, as the language's are: a NaN wins, and -0 is less than
// +0. `tile-expand-min-max`, which runs next, makes comparisons and selections of the others. It must run
// after the vector dialect is lowered, so that vectors have one dimension.
#include "compiler/codegen/gpu/Passes.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tessera::gpu {
#define GEN_PASS_DEF_GPUMINMAX
#include "compiler/codegen/gpu/Passes.h.inc"

namespace {

struct MinMaxPass : impl::GpuMinMaxBase<MinMaxPass> {
  using GpuMinMaxBase::GpuMinMaxBase;

  void runOnOperation() final {
    auto gpu = findGpuTarget(target);
    if (!gpu) {
      getOperation().emitError() << gpu.error().message;
      return signalPassFailure();
    }
    if (!(*gpu)->architecture().propagatesNaN) return;
    getOperation().walk([](Operation *op) {
      if (!isa<arith::MinimumFOp, arith::MaximumFOp>(op)) return;
      Type type = op->getResult(0).getType();
      auto vector = dyn_cast<VectorType>(type);
      if (!getElementTypeOrSelf(type).isF32() || (vector && vector.getRank() != 1)) return;
      OpBuilder b(op);
      Value x = op->getOperand(0), y = op->getOperand(1);
      Value result = isa<arith::MaximumFOp>(op)
                         ? LLVM::MaximumOp::create(b, op->getLoc(), type, x, y).getResult()
                         : LLVM::MinimumOp::create(b, op->getLoc(), type, x, y).getResult();
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    });
  }
};

} // namespace

} // namespace tessera::gpu
