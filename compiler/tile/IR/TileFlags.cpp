// Flags of lines: what the flags of a tile (TileBounds.h) say of whole lines along an axis. A mask that was
// broadcast along an axis, as `m[:, None]` and the rows of a gather are, masks whole lines there.
#include "compiler/tile/IR/ReshapeGroups.h"
#include "compiler/tile/IR/TileBounds.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// Depth to which flags are compared: a gather's are about ten operations deep.
constexpr int kFlagDepth = 24;

RankedTensorType withoutAxis(RankedTensorType type, unsigned axis) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape, type.getElementType());
}

/// Removes an axis along which a tile is constant because it was broadcast along it.
class Lines {
public:
  Lines(OpBuilder &b, Location loc) : b_(b), loc_(loc) {}

  /// Returns the tile without the axis; null if it may vary along the axis. With `isPart`, `v` are flags:
  /// those of a conjunction that vary are left out, and null means that no line is masked.
  Value drop(Value v, unsigned axis, bool isPart) {
    auto [it, isNew] = done_.try_emplace({v, 2 * axis + isPart});
    if (!isNew) return it->second;
    Value r = tensorOf(v).getRank() > 1 ? find(v, axis, isPart) : Value();
    return done_[{v, 2 * axis + isPart}] = r;
  }

private:
  Value find(Value v, unsigned axis, bool isPart) {
    Operation *op = v.getDefiningOp();
    if (!op) return {};
    RankedTensorType result = withoutAxis(tensorOf(v), axis);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
      bool masksNothing = isPart && matchPattern(v, m_One());
      return elements && !masksNothing ? constantOf(elements.resizeSplat(result)) : Value();
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) return dropBroadcast(broadcast, result, axis, isPart);
    if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      unsigned at = static_cast<unsigned>(expand.getAxis());
      if (axis == at) return expand.getInput();
      Value r = drop(expand.getInput(), axis - (axis > at), isPart);
      return r ? ExpandDimsOp::create(b_, loc_, result, r, at - (at > axis)).getResult() : Value();
    }
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      unsigned rank = static_cast<unsigned>(tensorOf(v).getRank());
      if (axis + 2 < rank) {
        Value r = drop(transpose.getInput(), axis, isPart);
        return r ? TransposeOp::create(b_, loc_, result, r).getResult() : Value();
      }
      return drop(transpose.getInput(), axis + 1 == rank ? rank - 2 : rank - 1, isPart);
    }
    if (auto slice = dyn_cast<SliceOp>(op)) {
      Value r = drop(slice.getInput(), axis, isPart);
      SmallVector<int64_t> offsets(slice.getOffsets());
      offsets.erase(offsets.begin() + axis);
      return r ? SliceOp::create(b_, loc_, result, r, offsets).getResult() : Value();
    }
    if (auto flip = dyn_cast<FlipOp>(op)) {
      Value r = drop(flip.getInput(), axis, isPart);
      const auto at = static_cast<unsigned>(flip.getAxis());
      return !r || axis == at ? r : FlipOp::create(b_, loc_, result, r, at - (at > axis)).getResult();
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op)) return dropReshape(reshape, result, axis, isPart);
    if (auto mask = dyn_cast<MaskOp>(op)) return dropMask(mask, axis, isPart);
    if (auto conjunction = dyn_cast<arith::AndIOp>(op); conjunction && isPart) {
      Value x = drop(conjunction.getLhs(), axis, isPart), y = drop(conjunction.getRhs(), axis, isPart);
      return x && y ? arith::AndIOp::create(b_, loc_, x, y).getResult() : x ? x : y;
    }
    return isPure(op) && (isa<CastOp>(op) || isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
               ? dropElementwise(op, result, axis)
               : Value();
  }

  Value dropBroadcast(BroadcastOp op, RankedTensorType result, unsigned axis, bool isPart) {
    auto from = dyn_cast<RankedTensorType>(op.getInput().getType());
    if (!from) return BroadcastOp::create(b_, loc_, result, op.getInput());
    bool stretches = from.getDimSize(axis) == 1 && tensorOf(op.getResult()).getDimSize(axis) != 1;
    Value r = drop(op.getInput(), axis, isPart && !stretches);
    if (!r && stretches) r = ReshapeOp::create(b_, loc_, withoutAxis(from, axis), op.getInput());
    return !r || r.getType() == result ? r : BroadcastOp::create(b_, loc_, result, r).getResult();
  }

  /// An axis that is split or merged is constant if the whole group of axes is that it belongs to.
  Value dropReshape(ReshapeOp op, RankedTensorType result, unsigned axis, bool isPart) {
    ArrayRef<int64_t> from = tensorOf(op.getInput()).getShape(), to = tensorOf(op.getResult()).getShape();
    size_t i = 0, j = 0;
    while (i < from.size() && j < to.size()) {
      size_t firstFrom = i, firstTo = j;
      passReshapeGroup(from, i, to, j);
      if (axis >= j) continue;
      if (axis < firstTo) return {};
      Value r = op.getInput();
      for (size_t dropped = i; r && dropped-- > firstFrom;)
        r = drop(r, static_cast<unsigned>(dropped), isPart);
      if (!r) return {};
      // The rest of the group in the result is broadcast.
      SmallVector<int64_t> shape(result.getShape());
      for (size_t other = firstTo; other + 1 < j; ++other)
        shape[other] = 1;
      auto flat = RankedTensorType::get(shape, result.getElementType());
      if (r.getType() != flat) r = ReshapeOp::create(b_, loc_, flat, r);
      return flat == result ? r : BroadcastOp::create(b_, loc_, result, r).getResult();
    }
    return {};
  }

  /// With `isPart`, the bounds along the axis are left out as well, if what is outside them is cleared.
  Value dropMask(MaskOp op, unsigned axis, bool isPart) {
    bool clears = isPart && matchPattern(op.getFill(), m_Zero());
    auto isWhole = [&](size_t at) {
      return isConstantIntValue(op.getLower()[at], 0) &&
             isConstantIntValue(op.getUpper()[at], tensorOf(op.getResult()).getDimSize(at));
    };
    if (!clears && !isWhole(axis)) return {};
    SmallVector<Value> lower, upper;
    bool hasBounds = false;
    for (size_t at = 0; at < op.getLower().size(); ++at) {
      if (at == axis) continue;
      lower.push_back(op.getLower()[at]);
      upper.push_back(op.getUpper()[at]);
      hasBounds |= !isWhole(at);
    }
    Value r = drop(op.getInput(), axis, clears);
    if (!hasBounds) return r;
    if (!r && clears) {
      RankedTensorType type = withoutAxis(tensorOf(op.getInput()), axis);
      r = constantOf(SplatElementsAttr::get(type, true));
    }
    return r ? MaskOp::create(b_, loc_, r.getType(), r, op.getFill(), lower, upper).getResult() : Value();
  }

  Value constantOf(TypedAttr value) { return arith::ConstantOp::create(b_, loc_, value); }

  Value dropElementwise(Operation *op, RankedTensorType result, unsigned axis) {
    IRMapping map;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType())) continue;
      Value r = drop(operand, axis, /*isPart=*/false);
      if (!r) return {};
      map.map(operand, r);
    }
    Operation *line = b_.clone(*op, map);
    line->getResult(0).setType(result);
    return line->getResult(0);
  }

  OpBuilder &b_;
  Location loc_;
  DenseMap<std::pair<Value, unsigned>, Value> done_;
};

/// Appends the flags that are combined by `and`.
void appendParts(Value flags, SmallVectorImpl<Value> &out) {
  auto both = flags.getDefiningOp<arith::AndIOp>();
  if (!both) return out.push_back(flags);
  appendParts(both.getLhs(), out);
  appendParts(both.getRhs(), out);
}

} // namespace

bool impliesFlags(Value x, Value y) {
  if (!y || x == y) return true;
  if (!x) return false;
  SmallVector<Value> ofX, ofY;
  appendParts(x, ofX);
  appendParts(y, ofY);
  return llvm::all_of(ofY, [&](Value part) {
    return llvm::any_of(ofX, [&](Value other) { return sameExpression(other, part, kFlagDepth); });
  });
}

Value intersectFlags(OpBuilder &b, Location loc, Value x, Value y) {
  if (impliesFlags(x, y)) return x;
  if (impliesFlags(y, x)) return y;
  return arith::AndIOp::create(b, loc, x, y);
}

Value commonFlags(OpBuilder &b, Location loc, Value x, Value y) {
  if (!x || !y) return {};
  if (impliesFlags(x, y)) return y;
  SmallVector<Value> parts;
  appendParts(x, parts);
  Value common;
  for (Value part : parts)
    if (impliesFlags(y, part)) common = common ? intersectFlags(b, loc, common, part) : part;
  return common;
}

Value flagsOfLines(OpBuilder &b, Location loc, Value flags, unsigned axis) {
  return flags ? Lines(b, loc).drop(flags, axis, /*isPart=*/true) : Value();
}

bool maskWholeLines(OpBuilder &b, Location loc, Value flags, unsigned axis) {
  return flags && Lines(b, loc).drop(flags, axis, /*isPart=*/false);
}

Value flagsAlong(OpBuilder &b, Location loc, Value flags, unsigned axis) {
  if (!flags) return {};
  for (auto other = static_cast<unsigned>(tensorOf(flags).getRank()); flags && other-- > 0;)
    if (other != axis) flags = flagsOfLines(b, loc, flags, other);
  return flags;
}

bool areOfHyperplanes(OpBuilder &b, Location loc, Value flags) {
  const auto axes = llvm::seq(static_cast<unsigned>(tensorOf(flags).getRank()));
  SmallVector<Value> parts;
  appendParts(flags, parts);
  return llvm::all_of(parts, [&](Value part) {
    return llvm::any_of(axes, [&](unsigned axis) {
      return llvm::all_of(
          axes, [&](unsigned other) { return other == axis || maskWholeLines(b, loc, part, other); });
    });
  });
}

Value spreadFlags(OpBuilder &b, Location loc, Value flags, unsigned axis, ArrayRef<int64_t> shape) {
  if (!flags) return {};
  for (unsigned other = 0; other < shape.size(); ++other) {
    if (other == axis) continue;
    SmallVector<int64_t> wider(tensorOf(flags).getShape());
    wider.insert(wider.begin() + other, 1);
    flags = ExpandDimsOp::create(b, loc, RankedTensorType::get(wider, b.getI1Type()), flags, other);
  }
  auto type = RankedTensorType::get(shape, b.getI1Type());
  return flags.getType() == type ? flags : BroadcastOp::create(b, loc, type, flags).getResult();
}

} // namespace tessera::tile
