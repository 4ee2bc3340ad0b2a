// tile-hoist-invariants (normative phase 3): moves integer arithmetic that does not change within a loop
// before the loop.
//
//   scf.for %r = ... {                           %p = arith.floordivsi %i, %w
//     %p = arith.floordivsi %i, %w         ->    scf.for %r = ... {
//     %x = tile.load_elem %X[%p, %r]               %x = tile.load_elem %X[%p, %r]
//   }                                            }
//
// Indices are emitted where they are used, so `p = i // W` outside a nest becomes a division at each use
// inside. LLVM hoists what cannot trap, but a division can, unless the importer's guards of its divisor are
// recognised. It runs after masks have become explicit, since they add indices of their own, and before CSE,
// which merges the copies that end up in one block. Tiles are not moved, because their position decides which
// memory they need.
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace tessera {
#define GEN_PASS_DEF_TILEHOISTINVARIANTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Can `v` not be `excluded`? It cannot if it is another constant, or a chain of `select(x == c, other, x)`
/// that replaces that value.
bool isNever(Value v, int64_t excluded) {
  bool isReplaced = false;
  Value subject; // of the comparisons
  while (auto select = v.getDefiningOp<arith::SelectOp>()) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    APInt with, against;
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
        !matchPattern(select.getTrueValue(), m_ConstantInt(&with)) || with.getSExtValue() == excluded ||
        !matchPattern(compare.getRhs(), m_ConstantInt(&against)))
      return false;
    Value compared = uncast(compare.getLhs());
    if (subject && subject != compared) return false;
    subject = compared;
    isReplaced |= against.getSExtValue() == excluded;
    v = select.getFalseValue();
  }
  if (APInt constant; matchPattern(v, m_ConstantInt(&constant))) return constant.getSExtValue() != excluded;
  return isReplaced && uncast(v) == subject;
}

/// May `op` run before `loop`, where it did not run before? Division traps for 0, and signed division for -1
/// if the quotient overflows; upstream considers remainders harmless.
bool canRunBefore(Operation *loop, Operation *op) {
  auto isPositive = [&] { return isPositiveAt(op->getOperand(1), loop); };
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
    return isNever(op->getOperand(1), 0) || isPositive();
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return (isNever(op->getOperand(1), 0) && isNever(op->getOperand(1), -1)) || isPositive();
  return isSpeculatable(op);
}

bool isIntegerArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrIndex();
}

class HoistInvariants : public impl::TileHoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    getOperation()->walk([](LoopLikeOpInterface loop) {
      moveLoopInvariantCode(
          loop.getLoopRegions(), [&](Value v, Region *) { return loop.isDefinedOutsideOfLoop(v); },
          [&](Operation *op, Region *) { return isIntegerArithmetic(op) && canRunBefore(loop, op); },
          [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
    });
  }
};

} // namespace
} // namespace tessera
