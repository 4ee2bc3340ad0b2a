// tile-skip-hidden (normative phase 3): ends products, masks and reductions where a causal mask hides all
// that follows.
//
//   %hidden = arith.cmpi sgt, keys - rows, %limit
//   %s = tile.mma %q, %k limits(%m, %n, %d)               %s = tile.mma %q, %k limits(%m, min(%n, %end), %d)
//   %x = arith.select %hidden, -inf, %s              ->   %x = arith.select %hidden, -inf, %s
//   %p = tile.mask exp(%x - %top), 0 bounds(0 to %n)      %p = tile.mask exp(...), 0 bounds(0 to min(%n,
//   %end)) %o = tile.mma %p, %v limits(%m, %d, %n)               %o = tile.mma %p, %v limits(%m, %d, min(%n,
//   %end))
//
// with %end = %limit + the number of rows: no row sees a key from there on. Under fixed_reductions only
// scores end there: a hidden key has the weight 0, which makes a NaN of an infinite value. Of the blocks of a
// causal attention, those on the diagonal are nearly half empty. It runs after bounds have become explicit,
// which it narrows, and before tile-transpose-products, which exchanges the axes of what it has found.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera {
#define GEN_PASS_DEF_TILESKIPHIDDEN
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// A tile of rank 2 whose elements with a position along `axis` above their position along the other axis
/// plus `limit` are -inf.
struct CausalMask {
  int64_t axis;
  Value limit; // i32
};

/// Returns the axis along which the tile counts 0, 1, 2, ...; nullopt if it is not such a tile of rank 2.
std::optional<int64_t> countedAxis(Value v) {
  auto broadcast = v.getDefiningOp<BroadcastOp>();
  auto line = broadcast ? broadcast.getInput().getDefiningOp<ExpandDimsOp>() : ExpandDimsOp();
  auto iota = line ? line.getInput().getDefiningOp<IotaOp>() : IotaOp();
  if (!iota || !matchPattern(iota.getStart(), m_Zero()) || tileType(v).getRank() != 2) return {};
  const int64_t axis = 1 - line.getAxis();
  if (tileType(iota.getResult()).getDimSize(0) != tileType(v).getDimSize(axis)) return {};
  return axis;
}

/// Returns the mask that the select is; nullopt if it is none.
std::optional<CausalMask> causalMaskOf(arith::SelectOp select) {
  if (!isTile(select.getResult()) || !isTile(select.getCondition()) || !isLowest(select.getTrueValue()))
    return {};
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::sgt) return {};
  auto distance = compare.getLhs().getDefiningOp<arith::SubIOp>();
  auto limit = compare.getRhs().getDefiningOp<BroadcastOp>();
  if (!distance || !limit || !limit.getInput().getType().isInteger(32)) return {};
  std::optional<int64_t> axis = countedAxis(distance.getLhs()), other = countedAxis(distance.getRhs());
  if (!axis || !other || *axis == *other) return {};
  return CausalMask{*axis, limit.getInput()};
}

/// Is it a row's maximum that is replaced where it is -inf, spread along the keys? Where it is NaN, so are
/// the weights of all keys that the row sees.
bool isShift(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<BroadcastOp, ExpandDimsOp>(op)) break;
    v = op->getOperand(0);
  }
  auto select = v.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ) return false;
  return compare.getLhs() == select.getFalseValue() && isLowest(compare.getRhs()) &&
         matchPattern(select.getTrueValue(), m_AnyZeroFloat());
}

/// Narrows what a hidden element reaches. Lives for one select.
class Narrowing {
public:
  Narrowing(arith::SelectOp select, CausalMask hidden) : select_(select), hidden_(hidden) {
    auto shape = tileType(select.getResult()).getShape();
    OpBuilder b(select.getContext());
    b.setInsertionPointAfterValue(hidden.limit);
    Location loc = select.getLoc();
    auto constant = [&](int64_t n) { return arith::ConstantIndexOp::create(b, loc, n); };
    end_ = arith::IndexCastOp::create(b, loc, b.getIndexType(), hidden.limit);
    end_ = arith::AddIOp::create(b, loc, end_, constant(shape[1 - hidden.axis]));
    end_ = arith::MinSIOp::create(b, loc, end_, constant(shape[hidden.axis]));
    end_ = arith::MaxSIOp::create(b, loc, end_, constant(0));
  }

  void run(bool skipsWeights) {
    limitProducer(select_.getFalseValue());
    if (skipsWeights) follow(select_.getResult(), /*isZero=*/false);
  }

private:
  /// A product that nothing but the select uses.
  void limitProducer(Value v) {
    while (v.hasOneUse()) {
      Operation *op = v.getDefiningOp();
      if (auto mma = dyn_cast_or_null<MmaOp>(op)) return limit(mma, static_cast<size_t>(hidden_.axis));
      if (!op || !isElementwise(op) || isa<MaskOp>(op)) return;
      SmallVector<Value> tiles;
      for (Value operand : op->getOperands())
        if (isTile(operand) && !matchPattern(operand, m_Constant())) tiles.push_back(operand);
      if (tiles.size() != 1) return;
      v = tiles[0];
    }
  }

  /// `v` is 0 where it is hidden, or -inf.
  void follow(Value v, bool isZero) {
    for (Operation *user : SmallVector<Operation *>(v.getUsers())) { // limits move a product's operands
      if (auto mask = dyn_cast<MaskOp>(user)) {
        Attribute fill;
        if (mask.getInput() != v || !matchPattern(mask.getFill(), m_Constant(&fill))) continue;
        auto value = dyn_cast<FloatAttr>(fill);
        if (!value || !(isZero ? value.getValue().isPosZero()
                               : (value.getValue().isInfinity() && value.getValue().isNegative())))
          continue;
        if (!mask.getUpper().empty()) narrow(mask, mask.getUpperMutable()[static_cast<size_t>(hidden_.axis)]);
        follow(mask.getResult(), isZero);
      } else if (auto sub = dyn_cast<arith::SubFOp>(user)) {
        if (!isZero && sub.getLhs() == v && isShift(sub.getRhs())) follow(sub.getResult(), false);
      } else if (isa<ExpOp>(user)) {
        if (!isZero) follow(user->getResult(0), true);
      } else if (isa<CastOp>(user)) {
        if (isZero) follow(user->getResult(0), true);
      } else if (auto mma = dyn_cast<MmaOp>(user)) {
        const int64_t depth = mma.getTransA() ? 0 : 1;
        if (isZero && mma.getA() == v && hidden_.axis == depth) limit(mma, 2);
      }
    }
  }

  void limit(MmaOp mma, size_t which) {
    if (mma.getLimits().empty()) {
      OpBuilder b(mma);
      auto product = tileType(mma.getAcc()).getShape();
      auto a = isTile(mma.getA()) ? tileType(mma.getA()).getShape()
                                  : cast<BufferType>(mma.getA().getType()).getShape();
      SmallVector<Value> ends;
      for (int64_t extent : {product[0], product[1], a[mma.getTransA() ? 0 : 1]})
        ends.push_back(arith::ConstantIndexOp::create(b, mma.getLoc(), extent));
      mma.getLimitsMutable().assign(ends);
    }
    narrow(mma, mma.getLimitsMutable()[which]);
  }

  void narrow(Operation *op, OpOperand &end) {
    if (op->getBlock() != select_->getBlock() || !moveBefore(op, end_)) return;
    Value &known = narrowed_[end.get()];
    if (!known || !known.getDefiningOp()->isBeforeInBlock(op)) {
      OpBuilder b(op);
      known = arith::MinSIOp::create(b, op->getLoc(), end.get(), end_);
    }
    end.set(known);
  }

  /// Moves what computes a scalar before `op`. Returns false if some of it cannot be moved.
  static bool moveBefore(Operation *op, Value v) {
    Operation *from = v.getDefiningOp();
    if (!from || from->getBlock() != op->getBlock() || from->isBeforeInBlock(op)) return true;
    if (!isPure(from) || from->getNumRegions()) return false;
    for (Value operand : from->getOperands())
      if (!moveBefore(op, operand)) return false;
    from->moveBefore(op);
    return true;
  }

  arith::SelectOp select_;
  CausalMask hidden_;
  Value end_; // index, in the tile
  llvm::DenseMap<Value, Value> narrowed_;
};

struct SkipHidden : impl::TileSkipHiddenBase<SkipHidden> {
  void runOnOperation() override {
    // Which infinite values a row multiplies by a weight of 0 would depend on the rows beside it.
    const bool skipsWeights = !permitsOf(getOperation()).value_or(NumericsPermissions()).fixedReductions;
    SmallVector<arith::SelectOp> selects;
    getOperation().walk([&](arith::SelectOp op) { selects.push_back(op); });
    for (arith::SelectOp select : selects)
      if (std::optional<CausalMask> mask = causalMaskOf(select)) Narrowing(select, *mask).run(skipsWeights);
  }
};

} // namespace
} // namespace tessera
