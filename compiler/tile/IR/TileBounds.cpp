// BoundsOpInterface for the tile dialect. Along an axis that is kept, the result is in bounds where its
// operand is. Along an axis that is reduced or contracted, the neutral element replaces elements that are out
// of bounds.
#include "compiler/tile/IR/TileBounds.h"
#include "compiler/tile/IR/ReshapeGroups.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

#include "compiler/tile/IR/TileBoundsInterface.cpp.inc"

namespace tessera::tile {
namespace {

Value constant(OpBuilder &b, Location loc, int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }

TypedAttr zeroOf(Value tile) {
  return Builder(tile.getContext()).getZeroAttr(tensorOf(tile).getElementType());
}

TypedAttr neutralOf(ReduceKind kind, bool isUnsigned, Type element) {
  Builder b(element.getContext());
  if (kind == ReduceKind::Sum) return b.getZeroAttr(element);
  if (kind == ReduceKind::Prod) return b.getOneAttr(element);
  bool low = kind == ReduceKind::Max; // the neutral element of max is the lowest value
  if (auto f = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &sem = f.getFloatSemantics();
    bool hasInf = APFloat::getInf(sem).isInfinity();
    return FloatAttr::get(f, hasInf ? APFloat::getInf(sem, low) : APFloat::getLargest(sem, low));
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits == 1) isUnsigned = true;
  APInt v = isUnsigned ? (low ? APInt::getMinValue(bits) : APInt::getMaxValue(bits))
                       : (low ? APInt::getSignedMinValue(bits) : APInt::getSignedMaxValue(bits));
  return IntegerAttr::get(element, v);
}

/// Drops the axis. Flags stay where they mask whole lines along it. Those that vary along it are dropped: a
/// line reduces to the neutral element if all of them are clear.
Bounds withoutAxis(OpBuilder &b, Location loc, Bounds bounds, uint64_t axis) {
  bounds.box.erase(bounds.box.begin() + static_cast<ptrdiff_t>(axis));
  return {bounds.box, flagsOfLines(b, loc, bounds.flags, static_cast<unsigned>(axis))};
}

/// For each axis of `from`, the axis of `to` that has the same elements; nullopt if axes are split or merged.
/// Axes of extent 1 may be added or removed.
SmallVector<std::optional<size_t>> matchAxes(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<std::optional<size_t>> match(from.size());
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    if (from[i] == to[j]) {
      match[i++] = j++;
      continue;
    }
    if (from[i] == 1) {
      ++i;
      continue;
    }
    if (to[j] == 1) {
      ++j;
      continue;
    }
    passReshapeGroup(from, i, to, j);
  }
  return match;
}

} // namespace

bool Bounds::hasBox() const {
  return llvm::any_of(box, [](const auto &axis) { return axis.has_value(); });
}

bool Bounds::isWhole() const { return !flags && !hasBox(); }

bool sameExpression(Value x, Value y, int depth) {
  if (x == y) return true;
  Operation *p = x.getDefiningOp(), *q = y.getDefiningOp();
  if (!p || !q || !depth || p->getName() != q->getName() || p->getNumOperands() != q->getNumOperands())
    return false;
  if (cast<OpResult>(x).getResultNumber() != cast<OpResult>(y).getResultNumber()) return false;
  if (p->getAttrDictionary() != q->getAttrDictionary() || p->getNumRegions() || !isMemoryEffectFree(p))
    return false;
  return llvm::all_of(llvm::zip(p->getOperands(), q->getOperands()), [&](auto pair) {
    return sameExpression(std::get<0>(pair), std::get<1>(pair), depth - 1);
  });
}

bool sameInterval(const std::optional<Interval> &x, const std::optional<Interval> &y) {
  if (!x || !y) return !x && !y;
  return sameExpression(x->lo, y->lo) && sameExpression(x->hi, y->hi);
}

bool sameBox(const Box &x, const Box &y) {
  return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto pair) {
           return sameInterval(std::get<0>(pair), std::get<1>(pair));
         });
}

bool sameBounds(const Bounds &x, const Bounds &y) {
  return impliesFlags(x.flags, y.flags) && impliesFlags(y.flags, x.flags) && sameBox(x.box, y.box);
}

std::optional<Interval> intersect(OpBuilder &b, Location loc, const std::optional<Interval> &x,
                                  const std::optional<Interval> &y) {
  if (!x || !y) return x ? x : y;
  if (sameInterval(x, y)) return x;
  return Interval{x->lo == y->lo ? x->lo : arith::MaxSIOp::create(b, loc, x->lo, y->lo).getResult(),
                  x->hi == y->hi ? x->hi : arith::MinSIOp::create(b, loc, x->hi, y->hi).getResult()};
}

Bounds intersect(OpBuilder &b, Location loc, const Bounds &x, const Bounds &y) {
  Bounds r = Bounds::whole(static_cast<int64_t>(x.box.size()));
  for (auto [both, p, q] : llvm::zip(r.box, x.box, y.box))
    both = intersect(b, loc, p, q);
  r.flags = intersectFlags(b, loc, x.flags, y.flags);
  return r;
}

void appendEnds(OpBuilder &b, Location loc, const Box &box, ArrayRef<int64_t> shape,
                SmallVectorImpl<Value> &lower, SmallVectorImpl<Value> &upper) {
  for (auto [interval, extent] : llvm::zip(box, shape)) {
    lower.push_back(interval ? interval->lo : constant(b, loc, 0));
    upper.push_back(interval ? interval->hi : constant(b, loc, extent));
  }
}

Value maskBox(OpBuilder &b, Location loc, Value tile, const Box &box, Value fill) {
  SmallVector<Value> lower, upper;
  appendEnds(b, loc, box, tensorOf(tile).getShape(), lower, upper);
  return MaskOp::create(b, loc, tile.getType(), tile, fill, lower, upper);
}

Value flagsOf(OpBuilder &b, Location loc, const Bounds &bounds, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, b.getI1Type());
  Value flags = bounds.flags;
  if (!flags) flags = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, true));
  if (!bounds.hasBox()) return flags;
  return maskBox(b, loc, flags, bounds.box, arith::ConstantOp::create(b, loc, b.getBoolAttr(false)));
}

// ---- The operations

/// An axis of extent 1 that is out of bounds stretches to an axis that is out of bounds as a whole.
Bounds BroadcastOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  RankedTensorType result = tensorOf(getResult());
  auto input = dyn_cast<RankedTensorType>(getInput().getType());
  if (!input) return Bounds::whole(result.getRank());
  Bounds r = of(getInput());
  Location loc = getLoc();
  for (auto [interval, from, to] : llvm::zip(r.box, input.getShape(), result.getShape())) {
    if (!interval || from == to) continue;
    Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, interval->lo, interval->hi);
    Value zero = constant(b, loc, 0);
    interval = Interval{zero, arith::SelectOp::create(b, loc, isThere, constant(b, loc, to), zero)};
  }
  if (r.flags) r.flags = BroadcastOp::create(b, loc, result.clone(b.getI1Type()), r.flags);
  return r;
}

Bounds ExpandDimsOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Bounds r = of(getInput());
  r.box.insert(r.box.begin() + static_cast<ptrdiff_t>(getAxis()), std::nullopt);
  if (r.flags)
    r.flags =
        ExpandDimsOp::create(b, getLoc(), tensorOf(getResult()).clone(b.getI1Type()), r.flags, getAxis());
  return r;
}

Bounds TransposeOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Bounds r = of(getInput());
  std::swap(r.box[r.box.size() - 1], r.box[r.box.size() - 2]);
  if (r.flags)
    r.flags = TransposeOp::create(b, getLoc(), tensorOf(getResult()).clone(b.getI1Type()), r.flags);
  return r;
}

Bounds SliceOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Bounds r = of(getInput());
  Location loc = getLoc();
  ArrayRef<int64_t> shape = tensorOf(getResult()).getShape();
  for (auto [interval, offset, extent] : llvm::zip(r.box, getOffsets(), shape)) {
    if (!interval) continue;
    Value first = constant(b, loc, offset), zero = constant(b, loc, 0), end = constant(b, loc, extent);
    auto moved = [&](Value v) -> Value {
      v = b.createOrFold<arith::SubIOp>(loc, v, first);
      return b.createOrFold<arith::MinSIOp>(loc, b.createOrFold<arith::MaxSIOp>(loc, v, zero), end);
    };
    interval = Interval{moved(interval->lo), moved(interval->hi)};
    if (isConstantIntValue(interval->lo, 0) && isConstantIntValue(interval->hi, extent))
      interval = std::nullopt;
  }
  if (r.flags)
    r.flags = SliceOp::create(b, loc, tensorOf(getResult()).clone(b.getI1Type()), r.flags, getOffsets());
  return r;
}

/// Axes that are neither split nor merged keep their intervals; for the others there are flags.
Bounds ReshapeOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  RankedTensorType from = tensorOf(getInput()), to = tensorOf(getResult());
  Bounds all = of(getInput()), r = Bounds::whole(to.getRank());
  for (auto [interval, axis] : llvm::zip(all.box, matchAxes(from.getShape(), to.getShape())))
    if (interval && axis) {
      r.box[*axis] = interval;
      interval = std::nullopt;
    }
  if (!all.isWhole())
    r.flags =
        ReshapeOp::create(b, getLoc(), to.clone(b.getI1Type()), flagsOf(b, getLoc(), all, from.getShape()));
  return r;
}

/// An interval that all tiles have in common across the joined axis is kept, and so is that of the last tile
/// along it.
Bounds ConcatOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Location loc = getLoc();
  RankedTensorType result = tensorOf(getResult());
  SmallVector<Bounds> all = llvm::map_to_vector(getInputs(), [&](Value input) { return of(input); });
  Bounds r = Bounds::whole(result.getRank());
  for (size_t axis = 0; axis < r.box.size(); ++axis) {
    auto interval = all.back().box[axis];
    bool isShared = axis != getAxis() && llvm::all_of(all, [&](const Bounds &each) {
                      return sameInterval(each.box[axis], interval);
                    });
    if (!isShared) continue;
    r.box[axis] = interval;
    for (Bounds &each : all)
      each.box[axis] = std::nullopt;
  }
  auto &end = all.back().box[getAxis()];
  bool isEnd = end && isConstantIntValue(end->lo, 0) &&
               llvm::all_of(ArrayRef(all).drop_back(), [](const Bounds &each) { return each.isWhole(); });
  if (isEnd) {
    int64_t before = result.getDimSize(getAxis()) - tensorOf(getInputs().back()).getDimSize(getAxis());
    r.box[getAxis()] =
        Interval{end->lo, b.createOrFold<arith::AddIOp>(loc, end->hi, constant(b, loc, before))};
    end = std::nullopt;
  }
  if (llvm::all_of(all, [](const Bounds &each) { return each.isWhole(); })) return r;
  SmallVector<Value> flags;
  for (auto [input, bounds] : llvm::zip(getInputs(), all))
    flags.push_back(flagsOf(b, loc, bounds, tensorOf(input).getShape()));
  r.flags = ConcatOp::create(b, loc, result.clone(b.getI1Type()), flags, getAxis());
  return r;
}

/// In bounds where the condition is, and where the element it selects is.
Bounds WhereOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Bounds c = of(getCondition()), x = of(getX()), y = of(getY());
  Location loc = getLoc();
  // Where the condition is out of bounds, or both values are, nothing is selected.
  for (auto [ofC, ofX, ofY] : llvm::zip(c.box, x.box, y.box)) {
    if (ofX && ofY && sameInterval(ofX, ofY)) ofC = intersect(b, loc, ofC, ofX);
    if (ofX && sameInterval(ofC, ofX)) ofX = std::nullopt;
    if (ofY && sameInterval(ofC, ofY)) ofY = std::nullopt;
  }
  if (x.isWhole() && y.isWhole()) return c;
  ArrayRef<int64_t> shape = tensorOf(getResult()).getShape();
  Bounds choice = Bounds::whole(static_cast<int64_t>(shape.size()));
  choice.flags =
      arith::SelectOp::create(b, loc, getCondition(), flagsOf(b, loc, x, shape), flagsOf(b, loc, y, shape));
  return intersect(b, loc, c, choice);
}

Bounds FillMaskedOp::boundsOfResult(OpBuilder &, BoundsOf) {
  return Bounds::whole(tensorOf(getResult()).getRank());
}

Bounds KeepOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Bounds set = of(getFlags());
  set.flags = intersectFlags(b, getLoc(), set.flags, getFlags());
  return intersect(b, getLoc(), of(getInput()), set);
}

Bounds ReduceOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  return withoutAxis(b, getLoc(), of(getInput()), getAxis());
}

TypedAttr ReduceOp::neutralElement(OpOperand &) {
  return neutralOf(getKind(), getIsUnsigned(), tensorOf(getInput()).getElementType());
}

std::optional<unsigned> ReduceOp::combinedAxis(OpOperand &) { return static_cast<unsigned>(getAxis()); }

Bounds ArgReduceOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  return withoutAxis(b, getLoc(), of(getInput()), getAxis());
}

TypedAttr ArgReduceOp::neutralElement(OpOperand &) {
  return neutralOf(getKind() == ArgKind::Max ? ReduceKind::Max : ReduceKind::Min, getIsUnsigned(),
                   tensorOf(getInput()).getElementType());
}

std::optional<unsigned> ArgReduceOp::combinedAxis(OpOperand &) { return static_cast<unsigned>(getAxis()); }

Bounds ScanOp::boundsOfResult(OpBuilder &, BoundsOf of) { return of(getInput()); }

TypedAttr ScanOp::neutralElement(OpOperand &) {
  return neutralOf(reduceKindOf(getKind()), getIsUnsigned(), tensorOf(getInput()).getElementType());
}

/// The elements in bounds come first. Without flags their number is the length of the interval.
Bounds SortOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Location loc = getLoc();
  RankedTensorType from = tensorOf(getInput()), to = tensorOf(getResult());
  Bounds in = of(getInput());
  auto &interval = in.box[getAxis()];
  if (!in.flags) {
    Value zero = constant(b, loc, 0), extent = constant(b, loc, from.getDimSize(getAxis()));
    if (interval) {
      Value count = b.createOrFold<arith::SubIOp>(loc, interval->hi, interval->lo);
      interval = Interval{zero, b.createOrFold<arith::MaxSIOp>(loc, count, zero)};
    } else if (from != to) {
      interval = Interval{zero, extent};
    }
    return in;
  }
  // The number of elements in bounds of each line, beside the position in the line.
  Value flags = flagsOf(b, loc, in, from.getShape());
  Type i32 = b.getI32Type();
  Value ones = arith::ExtUIOp::create(b, loc, from.clone(i32), flags);
  SmallVector<int64_t> kept(from.getShape());
  kept.erase(kept.begin() + static_cast<ptrdiff_t>(getAxis()));
  Type counted = kept.empty() ? i32 : Type(RankedTensorType::get(kept, i32));
  Value count = ReduceOp::create(b, loc, counted, ReduceKind::Sum, ones, getAxis(), /*is_unsigned=*/false,
                                 /*order=*/OrderAttr());
  if (!kept.empty()) {
    kept.insert(kept.begin() + static_cast<ptrdiff_t>(getAxis()), 1);
    count = ExpandDimsOp::create(b, loc, RankedTensorType::get(kept, i32), count, getAxis());
  }
  count = BroadcastOp::create(b, loc, to.clone(i32), count);
  int64_t extent = to.getDimSize(getAxis());
  Value start = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value position = IotaOp::create(b, loc, RankedTensorType::get({extent}, i32), start);
  for (int64_t axis = 0; axis < to.getRank(); ++axis) {
    if (axis == static_cast<int64_t>(getAxis())) continue;
    SmallVector<int64_t> shape(tensorOf(position).getShape());
    shape.insert(shape.begin() + axis, 1);
    position = ExpandDimsOp::create(b, loc, RankedTensorType::get(shape, i32), position, axis);
  }
  position = BroadcastOp::create(b, loc, to.clone(i32), position);
  Bounds r = Bounds::whole(to.getRank());
  r.flags = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, position, count);
  // Lines that are masked as a whole stay so: later reductions along the axis see it.
  if (Value lines = kept.empty() ? Value() : flagsOfLines(b, loc, flags, static_cast<unsigned>(getAxis()))) {
    SmallVector<int64_t> shape(tensorOf(lines).getShape());
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(getAxis()), 1);
    lines = ExpandDimsOp::create(b, loc, RankedTensorType::get(shape, b.getI1Type()), lines, getAxis());
    lines = BroadcastOp::create(b, loc, to.clone(b.getI1Type()), lines);
    r.flags = intersectFlags(b, loc, r.flags, lines);
  }
  return r;
}

TypedAttr SortOp::neutralElement(OpOperand &) {
  return neutralOf(ReduceKind::Min, /*isUnsigned=*/false, tensorOf(getInput()).getElementType());
}

Bounds FlipOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  Bounds r = of(getInput());
  Location loc = getLoc();
  RankedTensorType type = tensorOf(getResult());
  if (auto &interval = r.box[getAxis()]) {
    Value extent = constant(b, loc, type.getDimSize(getAxis()));
    interval = Interval{b.createOrFold<arith::SubIOp>(loc, extent, interval->hi),
                        b.createOrFold<arith::SubIOp>(loc, extent, interval->lo)};
  }
  if (r.flags) r.flags = FlipOp::create(b, loc, type.clone(b.getI1Type()), r.flags, getAxis());
  return r;
}

Bounds MmaOp::boundsOfResult(OpBuilder &b, BoundsOf of) {
  return intersect(b, getLoc(), boundsOfProduct(b, of), of(getAcc()));
}

/// The rows of the first factor and the columns of the second.
Bounds MmaOp::boundsOfProduct(OpBuilder &b, BoundsOf of) {
  Bounds x = of(getA()), y = of(getB());
  unsigned row = getTransA() ? 1 : 0, column = getTransB() ? 0 : 1;
  ArrayRef<int64_t> shape = tensorOf(getResult()).getShape();
  Location loc = getLoc();
  auto flags = [&](const Bounds &factor, unsigned axis, unsigned ofResult) {
    return spreadFlags(b, loc, flagsOfLines(b, loc, factor.flags, 1 - axis), ofResult, shape);
  };
  return {{x.box[row], y.box[column]}, intersectFlags(b, loc, flags(x, row, 0), flags(y, column, 1))};
}

TypedAttr MmaOp::neutralElement(OpOperand &operand) {
  bool isFactor = operand.getOperandNumber() < 2;
  return isFactor && isa<RankedTensorType>(operand.get().getType()) ? zeroOf(operand.get()) : TypedAttr();
}

std::optional<unsigned> MmaOp::combinedAxis(OpOperand &operand) {
  switch (operand.getOperandNumber()) {
  case 0:
    return getTransA() ? 0 : 1;
  case 1:
    return getTransB() ? 1 : 0;
  default:
    return {};
  }
}

} // namespace tessera::tile
