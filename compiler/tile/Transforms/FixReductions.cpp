// tile-fix-reductions: what `fixed_reductions` promises of sums of floats (docs/strict.md).
//
//   %s = tile.reduce sum %x axis 1   ->   %s = tile.reduce sum %x axis 1 order <lanes = 64, block = 1024>
//   tile.store %acc                  ->   %z = arith.addf %acc, 0.0
//                                         tile.store %z
//
// A chain of multiply-adds whose terms underflow ends in -0, and in +0 if a target pads it with zeros: where
// the result of products is used, +0 is added. Runs first, while each reduction is still one of the program.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/CarriedValues.h"
#include "compiler/tile/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_TILEFIXREDUCTIONS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

bool isOfFloats(Value v) { return isa<FloatType>(getElementTypeOrSelf(v.getType())); }

class FixReductions : public impl::TileFixReductionsBase<FixReductions> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!permitsOf(kernel).value_or(NumericsPermissions()).fixedReductions) return;
    kernel.walk([&](ReduceOp op) {
      const bool rounds = op.getKind() == ReduceKind::Sum || op.getKind() == ReduceKind::Prod;
      if (op.getOrder() || !rounds || !isOfFloats(op.getInput())) return;
      const int64_t last = cast<RankedTensorType>(op.getInput().getType()).getRank() - 1;
      op.setOrderAttr(OrderAttr::fixed(&getContext(), static_cast<int64_t>(op.getAxis()) == last));
    });
    auto products =
        carriedFrom(kernel, [](Operation *op) { return isa<MmaOp>(op) && isOfFloats(op->getResult(0)); });
    rewriteUses(
        products,
        [](OpOperand &use) {
          auto next = dyn_cast<MmaOp>(use.getOwner());
          return !next || next.getAcc() != use.get();
        },
        [](OpBuilder &b, Value v) -> Value {
          Value zero = arith::ConstantOp::create(b, v.getLoc(), b.getZeroAttr(v.getType()));
          return arith::AddFOp::create(b, v.getLoc(), v, zero);
        });
  }
};

} // namespace
} // namespace tessera
