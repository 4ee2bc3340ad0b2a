// cpu-expand-division: divisions of vectors of integers by divisions of floats.
//
//   %q = arith.divsi %x, %y : vector<8xi32>   ->   %f = arith.divf (sitofp %x), (sitofp %y) : vector<8xf64>
//                                                  %q = arith.fptosi %f
//
// No processor divides vectors of integers, and LLVM divides their elements one after the other. The float's
// quotient is exact once it is truncated, if its significand has more than n + 1 bits for integers of n bits:
// where x / y is less than an integer k, it is less by at least 1 / y, and k * y < 2^(n + 1), so the quotient
// is not rounded to k. Integers of 64 bits have no such float. A constant divisor stays, because LLVM
// multiplies by its inverse.
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Passes.h"

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUEXPANDDIVISION
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

struct ExpandDivisionPass : impl::CpuExpandDivisionBase<ExpandDivisionPass> {
  void runOnOperation() final {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) return;
      auto type = dyn_cast<VectorType>(op->getResult(0).getType());
      auto element = type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
      if (element && element.getWidth() > 1 && element.getWidth() <= 32 &&
          !matchPattern(op->getOperand(1), m_Constant()))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      expand(op);
  }

  static void expand(Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    auto type = cast<VectorType>(op->getResult(0).getType());
    Value x = op->getOperand(0), y = op->getOperand(1), quotient;
    const bool isNarrow = type.getElementType().getIntOrFloatBitWidth() <= 16;
    Type real = type.clone(isNarrow ? Type(b.getF32Type()) : Type(b.getF64Type()));
    auto divide = [&](auto toFloat, auto toInt) {
      using ToFloat = decltype(toFloat);
      using ToInt = decltype(toInt);
      Value ratio = arith::DivFOp::create(b, ToFloat::create(b, real, x), ToFloat::create(b, real, y));
      quotient = ToInt::create(b, type, ratio);
    };
    if (isa<arith::DivSIOp, arith::RemSIOp>(op))
      divide(arith::SIToFPOp(), arith::FPToSIOp());
    else
      divide(arith::UIToFPOp(), arith::FPToUIOp());
    if (isa<arith::RemSIOp, arith::RemUIOp>(op))
      quotient = arith::SubIOp::create(b, x, arith::MulIOp::create(b, quotient, y));
    op->replaceAllUsesWith(ValueRange(quotient));
    op->erase();
  }
};

} // namespace

} // namespace tessera::cpu
