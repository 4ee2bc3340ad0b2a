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

bool isIntegerArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrIndex();
}

class HoistInvariants : public impl::TileHoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    getOperation()->walk([](LoopLikeOpInterface loop) {
      moveLoopInvariantCode(
          loop.getLoopRegions(), [&](Value v, Region *) { return loop.isDefinedOutsideOfLoop(v); },
          [&](Operation *op, Region *) { return isIntegerArithmetic(op) && canRunAt(op, loop); },
          [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
    });
  }
};

} // namespace
} // namespace tessera
