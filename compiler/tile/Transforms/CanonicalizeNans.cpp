// tile-canonicalize-nans: gives a NaN that arithmetic has produced the bits of its dtype's quiet NaN, where
// `fixed_reductions` promises the same bits on every target (docs/strict.md).
//
//   %y = arith.addf %a, %b   ->   %y = arith.addf %a, %b
//   tile.store %y                 %i = arith.bitcast %y : f32 to i32
//                                 %n = arith.cmpi ugt, (%i & 0x7fffffff), 0x7f800000
//                                 %z = arith.bitcast (arith.select %n, 0x7fc00000, %i)
//                                 tile.store %z
//
// Integers, because LLVM takes one NaN for another: it drops a choice of floats after a square root.
// Which payload and sign a NaN gets depends on the processor, on the order of operands and on the width of
// vectors. Only stores and bit casts show them, and what moves a value to one, as a select does. Arithmetic
// that follows does not, so a chain of it has one such select, at its end. Elements that are only moved keep
// their bits.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/CarriedValues.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_TILECANONICALIZENANS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Does the operation compute with floats, so that its users see a NaN of no particular bits?
bool computes(Operation *op) {
  if (isa<arith::SelectOp, arith::BitcastOp, math::CopySignOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return false;
  return OpTrait::hasElementwiseMappableTraits(op) || isa<CastOp, ReduceOp, ScanOp, MmaOp>(op);
}

/// Is its result a float of a dtype that has several NaNs?
bool mayYieldNans(Operation *op) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
  if (!element) return false;
  const llvm::fltSemantics &format = element.getFloatSemantics();
  return APFloat::semanticsHasNaN(format) && APFloat::semanticsHasSignedRepr(format) &&
         !APFloat::getQNaN(format).isNegative(); // else -0 is its only NaN
}

Value canonical(OpBuilder &b, Value v) {
  auto element = cast<FloatType>(getElementTypeOrSelf(v.getType()));
  const llvm::fltSemantics &format = element.getFloatSemantics();
  const unsigned width = element.getWidth();
  auto tile = dyn_cast<RankedTensorType>(v.getType());
  Type integer = b.getIntegerType(width), type = tile ? Type(tile.clone(integer)) : integer;
  auto constant = [&](const APInt &value) -> Value {
    TypedAttr attr = IntegerAttr::get(integer, value);
    if (tile) attr = DenseElementsAttr::get(cast<ShapedType>(type), value);
    return arith::ConstantOp::create(b, v.getLoc(), attr);
  };
  const APFloat largest =
      APFloat::semanticsHasInf(format) ? APFloat::getInf(format) : APFloat::getLargest(format);
  Value bits = arith::BitcastOp::create(b, v.getLoc(), type, v);
  Value magnitude = arith::AndIOp::create(b, v.getLoc(), bits, constant(APInt::getSignedMaxValue(width)));
  Value isNan = arith::CmpIOp::create(b, v.getLoc(), arith::CmpIPredicate::ugt, magnitude,
                                      constant(largest.bitcastToAPInt()));
  Value quiet = constant(APFloat::getQNaN(format).bitcastToAPInt());
  Value chosen = arith::SelectOp::create(b, v.getLoc(), isNan, quiet, bits);
  return arith::BitcastOp::create(b, v.getLoc(), v.getType(), chosen);
}

/// Does the operation yield elements of its operands, unchanged?
bool moves(Operation *op) {
  return !computes(op) && isMemoryEffectFree(op) && !isa<arith::BitcastOp, math::CopySignOp>(op) &&
         op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
}

/// The values of a kernel whose bits are seen: by an operation that is no arithmetic, or where moves, loops
/// and branches take them.
class SeenValues {
public:
  explicit SeenValues(KernelOp kernel) {
    llvm::DenseMap<Value, SmallVector<Value>> from; // what loops and branches make a value of
    SmallVector<Value> work;
    kernel.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        SmallVector<Value, 2> carried = carriedBy(operand);
        for (Value v : carried)
          from[v].push_back(operand.get());
        if (carried.empty() && !computes(op) && !moves(op)) work.push_back(operand.get());
      }
    });
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (!seen_.insert(v).second) continue;
      llvm::append_range(work, from.lookup(v));
      if (Operation *op = v.getDefiningOp(); op && moves(op)) llvm::append_range(work, op->getOperands());
    }
  }

  bool areSeenBy(OpOperand &use) const {
    Operation *user = use.getOwner();
    return !computes(user) && (!moves(user) || seen_.contains(user->getResult(0)));
  }

private:
  llvm::DenseSet<Value> seen_;
};

class CanonicalizeNans : public impl::TileCanonicalizeNansBase<CanonicalizeNans> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!permitsOf(kernel).value_or(NumericsPermissions()).fixedReductions) return;
    auto computed = carriedFrom(kernel, [](Operation *op) { return computes(op) && mayYieldNans(op); });
    const SeenValues seen(kernel);
    rewriteUses(computed, [&](OpOperand &use) { return seen.areSeenBy(use); }, canonical);
  }
};

} // namespace
} // namespace tessera
