// tile-legalize-bounds (normative phase 3): makes explicit what elements past a tensor's edge mean.
//
// A load gives 0 to elements that are out of bounds. The pass follows them through the operations
// (BoundsOpInterface), and adds a mask or a bound where they would be visible:
//
//   %x = tile.load %A[%i] extents [64]             %x = tile.load %A[%i] extents [64]
//   %e = tile.exp %x                        ->     %e = tile.exp %x
//   %s = tile.reduce sum %e axis 0                 %m = tile.mask %e, %zero bounds(%lo to %hi)
//                                                  %s = tile.reduce sum %m axis 0
//
// The complete rules, and the reasons for them, are in docs/decisions/0002 and 0019. BoundsOfReads.cpp
// computes the boxes of tiles that are read, BoundsInRegions.cpp those of tiles that loops and branches
// carry, BoundsOfSums.cpp those of sums of products, and InvariantBounds.cpp those that every iteration of a
// loop has. BoundsOfPositions.cpp keeps positions of extremes in bounds.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/BoundsLegalizer.h"
#include "compiler/tile/Transforms/KnownExtents.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera {
#define GEN_PASS_DEF_TILELEGALIZEBOUNDS
#include "compiler/tile/Transforms/Passes.h.inc"

namespace {
struct LegalizeBounds : impl::TileLegalizeBoundsBase<LegalizeBounds> {
  void runOnOperation() override {
    tile::markKnownInside(getOperation());
    tile::BoundsLegalizer().visit(getOperation().getBody().front());
    getOperation().walk([](tile::WhereOp op) {
      OpBuilder b(op);
      op.replaceAllUsesWith(
          arith::SelectOp::create(b, op.getLoc(), op.getCondition(), op.getX(), op.getY()).getResult());
      op.erase();
    });
    getOperation().walk([](tile::KeepOp op) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
  }
};
} // namespace

namespace tile {
namespace {

/// Are the elements that are out of bounds already 0? They are in a load, also after casts and changes of
/// shape.
bool readsZero(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<LoadOp, GatherOp, BufferReadOp>(op)) return true;
  return isa_and_nonnull<CastOp, TransposeOp, ExpandDimsOp, SliceOp, BroadcastOp, ReshapeOp>(op) &&
         isTile(op->getOperand(0)) && readsZero(op->getOperand(0));
}

/// Returns a tile of this type with equal elements.
Value splat(OpBuilder &b, Location loc, Type type, Value element) {
  if (auto constant = element.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(cast<ShapedType>(type), constant.getValue()));
  return BroadcastOp::create(b, loc, type, element);
}

/// In bounds where every operand is.
Bounds boundsOfElementwise(OpBuilder &b, Operation *op, BoundsOf of) {
  std::optional<Bounds> r;
  for (Value operand : op->getOperands())
    if (isTile(operand)) r = r ? intersect(b, op->getLoc(), *r, of(operand)) : of(operand);
  return r ? *r : Bounds::whole(tileType(op->getResult(0)).getRank());
}

} // namespace

Value indexConstant(OpBuilder &b, Location loc, int64_t v) {
  return arith::ConstantIndexOp::create(b, loc, v);
}

/// `x if c else y`, and an if that only selects: the ends are selected as the tile is.
Bounds boundsOfChoice(OpBuilder &b, Location loc, Value condition, const Bounds &x, const Bounds &y,
                      ArrayRef<int64_t> shape) {
  Bounds r = Bounds::whole(static_cast<int64_t>(shape.size()));
  auto choose = [&](Value p, Value q) -> Value {
    if (sameExpression(p, q)) return p;
    return arith::SelectOp::create(b, loc, condition, p, q);
  };
  for (auto [axis, ofX, ofY, extent] : llvm::zip(r.box, x.box, y.box, shape)) {
    if (!ofX && !ofY) continue;
    Interval whole = {indexConstant(b, loc, 0), indexConstant(b, loc, extent)};
    Interval p = ofX.value_or(whole), q = ofY.value_or(whole);
    axis = Interval{choose(p.lo, q.lo), choose(p.hi, q.hi)};
  }
  if (!x.flags && !y.flags) return r;
  Bounds ofX = Bounds::whole(static_cast<int64_t>(shape.size())), ofY = ofX;
  ofX.flags = x.flags, ofY.flags = y.flags;
  r.flags = choose(flagsOf(b, loc, ofX, shape), flagsOf(b, loc, ofY, shape));
  return r;
}

Bounds boundsOfResult(OpBuilder &b, Operation *op, BoundsOf of) {
  if (auto load = dyn_cast<LoadOp>(op)) return {loadBox(b, load)};
  if (auto gather = dyn_cast<GatherOp>(op)) return gatherBounds(b, gather, of);
  if (auto read = dyn_cast<BufferReadOp>(op)) return {bufferBox(b, read)};
  if (auto interface = dyn_cast<BoundsOpInterface>(op)) return interface.boundsOfResult(b, of);
  ArrayRef<int64_t> shape = tileType(op->getResult(0)).getShape();
  if (!isElementwise(op)) return Bounds::whole(static_cast<int64_t>(shape.size()));
  if (auto select = dyn_cast<arith::SelectOp>(op); select && !isTile(select.getCondition()))
    return boundsOfChoice(b, op->getLoc(), select.getCondition(), of(select.getTrueValue()),
                          of(select.getFalseValue()), shape);
  return boundsOfElementwise(b, op, of);
}

void BoundsLegalizer::visit(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) boundsOfLoop(loop);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        visit(inner);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      boundsOfIf(branch);
    else
      visit(&op);
  }
}

Bounds BoundsLegalizer::bounds(Value v) {
  auto it = bounds_.find(v);
  return it != bounds_.end() ? it->second : Bounds::whole(tileType(v).getRank());
}

void BoundsLegalizer::visit(Operation *op) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  auto of = [&](Value v) { return bounds(v); };
  if (isa<LoadOp, BufferReadOp>(op)) {
    bounds_[op->getResult(0)] = boundsOfResult(b, op, of);
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    bounds_[gather.getResult()] = boundsOfResult(b, op, of);
    dropIndices(gather.getIndicesMutable());
  } else if (auto masked = dyn_cast<FillMaskedOp>(op)) {
    fillForGood(masked);
  } else if (auto mma = dyn_cast<MmaOp>(op)) {
    visitProduct(mma);
  } else if (auto interface = dyn_cast<BoundsOpInterface>(op)) {
    if (Value result = op->getResult(0); isTile(result)) bounds_[result] = boundsOfResult(b, op, of);
    if (auto arg = dyn_cast<ArgReduceOp>(op)) return legalizeArgReduce(arg);
    for (OpOperand &operand : op->getOpOperands())
      if (TypedAttr neutral = interface.neutralElement(operand))
        fill(operand, neutral, interface.combinedAxis(operand));
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    boundStore(store);
  } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
    boundScatter(scatter);
  } else if (isa<AtomicOp, AtomicCasOp>(op)) {
    dropAtomics(op);
  } else if (auto write = dyn_cast<BufferWriteOp>(op)) {
    fill(write->getOpOperand(0), b.getZeroAttr(tileType(write.getValue()).getElementType()));
  } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    keepOld(yield);
  } else if (isElementwise(op) && isTile(op->getResult(0))) {
    bounds_[op->getResult(0)] = boundsOfResult(b, op, of);
  }
}

/// Fills the operands of `where`, `reshape` and `concat` instead: a box is cheaper than flags.
Value BoundsLegalizer::filled(OpBuilder &b, Location loc, Value v, Value element,
                              DenseMap<Value, Value> &done, bool keepsZeros) {
  Bounds all = bounds(v);
  bool isZero = matchPattern(element, m_AnyZeroFloat()) || matchPattern(element, m_Zero());
  if (all.isWhole() || (keepsZeros && isZero && readsZero(v))) return v;
  if (Value had = done.lookup(v)) return had;
  Operation *op = v.getDefiningOp();
  auto inner = [&](Value operand) { return filled(b, loc, operand, element, done); };
  Value r = v;
  if (auto where = dyn_cast_or_null<WhereOp>(op); where && all.flags) {
    r = arith::SelectOp::create(b, loc, where.getCondition(), inner(where.getX()), inner(where.getY()));
    all = bounds(where.getCondition());
  } else if (auto reshape = dyn_cast_or_null<ReshapeOp>(op); reshape && all.flags) {
    return done[v] = ReshapeOp::create(b, loc, v.getType(), inner(reshape.getInput()));
  } else if (auto concat = dyn_cast_or_null<ConcatOp>(op); concat && all.flags) {
    SmallVector<Value> inputs = llvm::map_to_vector(concat.getInputs(), inner);
    return done[v] = ConcatOp::create(b, loc, v.getType(), inputs, concat.getAxis());
  }
  if (all.flags) r = arith::SelectOp::create(b, loc, all.flags, r, splat(b, loc, v.getType(), element));
  return done[v] = all.hasBox() ? maskBox(b, loc, r, all.box, element) : r;
}

/// A read has zeros already where it is out of bounds: read once more, without bounds, it needs no mask.
Value BoundsLegalizer::fillForGood(FillMaskedOp op) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  auto replaced = [&](Value r) {
    op.replaceAllUsesWith(r);
    op.erase();
    return r;
  };
  Value input = op.getInput();
  Operation *read = input.getDefiningOp();
  bool isZero = matchPattern(op.getFill(), m_PosZeroFloat()) || matchPattern(op.getFill(), m_Zero());
  if (isZero && isa_and_nonnull<LoadOp, GatherOp, BufferReadOp>(read) && !bounds(input).isWhole()) {
    OpBuilder besideRead(read->getContext());
    besideRead.setInsertionPointAfter(read);
    return replaced(besideRead.clone(*read)->getResult(0));
  }
  DenseMap<Value, Value> done;
  return replaced(filled(b, op.getLoc(), input, op.getFill(), done, /*keepsZeros=*/false));
}

Value BoundsLegalizer::visitMoved(Value v) {
  if (auto masked = v.getDefiningOp<FillMaskedOp>()) return fillForGood(masked);
  visit(v.getDefiningOp());
  return v;
}

void BoundsLegalizer::fill(OpOperand &operand, TypedAttr with, std::optional<unsigned> combined) {
  OpBuilder b(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  bool isZero = with == b.getZeroAttr(with.getType());
  Bounds all = bounds(operand.get());
  if (all.isWhole() || (isZero && readsZero(operand.get()))) return;
  if (combined && maskWholeLines(b, loc, all.flags, *combined)) {
    if (all.hasBox())
      operand.set(maskBox(b, loc, operand.get(), all.box, arith::ConstantOp::create(b, loc, with)));
    return;
  }
  DenseMap<Value, Value> done;
  operand.set(filled(b, loc, operand.get(), arith::ConstantOp::create(b, loc, with), done));
}

/// Returns the box of a factor of a product, which is a tile or a shared buffer.
Box BoundsLegalizer::factorBox(OpBuilder &b, MmaOp mma, Value factor) {
  return isTile(factor) ? bounds(factor).box : copiedBox(b, factor, mma);
}

/// Limits a product to where its factors end, so that their zeros are not multiplied: the ends of its rows,
/// columns and depth. Elements that the product skips keep the accumulator's value, whatever the other factor
/// contains. The limits are ends: returns the intervals of rows and columns that may begin later than 0.
Box BoundsLegalizer::limitMma(MmaOp mma, Box x, Box y) {
  OpBuilder b(mma);
  Location loc = mma.getLoc();
  if (mma.getTransA()) std::swap(x[0], x[1]);
  if (mma.getTransB()) std::swap(y[0], y[1]);
  Box later(2);
  if (!Bounds{x}.hasBox() && !Bounds{y}.hasBox()) return later;
  auto product = tileType(mma.getAcc()).getShape();
  ArrayRef<int64_t> ofA = isTile(mma.getA()) ? tileType(mma.getA()).getShape()
                                             : cast<BufferType>(mma.getA().getType()).getShape();
  int64_t depth = ofA[mma.getTransA() ? 0 : 1];
  auto end = [&](const std::optional<Interval> &i, int64_t extent) {
    return i ? i->hi : indexConstant(b, loc, extent);
  };
  Value k = end(x[1], depth);
  if (y[0] && !(x[1] && sameExpression(x[1]->hi, y[0]->hi)))
    k = x[1] ? arith::MinSIOp::create(b, loc, k, y[0]->hi).getResult() : y[0]->hi;
  mma.getLimitsMutable().assign({end(x[0], product[0]), end(y[1], product[1]), k});
  if (x[0] && !isConstantIntValue(x[0]->lo, 0)) later[0] = x[0];
  if (y[1] && !isConstantIntValue(y[1]->lo, 0)) later[1] = y[1];
  return later;
}

/// Out of bounds along the contraction: both factors must be 0, because an infinity on one side would make a
/// NaN.
Value BoundsLegalizer::legalizeMma(MmaOp mma, Value flags) {
  // Of the unmasked factors: a masked factor has no box.
  OpBuilder b(mma);
  const Box boxes[] = {factorBox(b, mma, mma.getA()), factorBox(b, mma, mma.getB())};
  Bounds restored = {limitMma(mma, boxes[0], boxes[1]), flags};
  for (int side : {0, 1}) {
    OpOperand &operand = mma->getOpOperand(side);
    Type element = isTile(operand.get())
                       ? tileType(operand.get()).getElementType()
                       : loadedElementType(cast<BufferType>(operand.get().getType()).getElementType());
    if (isTile(operand.get())) fill(operand, b.getZeroAttr(element), mma.combinedAxis(operand));
    bool trans = side == 0 ? mma.getTransA() : mma.getTransB();
    bool otherTrans = side == 0 ? mma.getTransB() : mma.getTransA();
    unsigned kAxis = (side == 0) != trans ? 1 : 0, otherK = (side == 0) != otherTrans ? 0 : 1;
    auto theirs = boxes[1 - side][otherK], mine = boxes[side][kAxis];
    if (!theirs || (mine && mine->lo == theirs->lo && mine->hi == theirs->hi) || sameInterval(mine, theirs))
      continue;
    b.setInsertionPoint(mma);
    Location loc = mma.getLoc();
    Value factor = operand.get();
    if (auto buffer = dyn_cast<BufferType>(factor.getType()))
      factor = BufferReadOp::create(b, loc, RankedTensorType::get(buffer.getShape(), element), factor);
    Box r(2);
    r[kAxis] = theirs;
    operand.set(maskBox(b, loc, factor, r, arith::ConstantOp::create(b, loc, b.getZeroAttr(element))));
  }
  if (restored.isWhole()) return mma.getResult();
  b.setInsertionPointAfter(mma);
  Location loc = mma.getLoc();
  Value inside = flagsOf(b, loc, restored, tileType(mma.getAcc()).getShape());
  Value result = arith::SelectOp::create(b, loc, inside, mma.getResult(), mma.getAcc());
  mma.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
  return result;
}

void BoundsLegalizer::boundStore(StoreOp store) {
  Bounds r = bounds(store.getValue());
  if (r.isWhole()) return;
  OpBuilder b(store);
  if (r.flags && !store.getFlags()) store.getFlagsMutable().assign(r.flags);
  if (!r.hasBox() || !store.getLower().empty()) return;
  SmallVector<Value> lower, upper;
  appendEnds(b, store.getLoc(), r.box, tileType(store.getValue()).getShape(), lower, upper);
  store.getLowerMutable().assign(lower);
  store.getUpperMutable().assign(upper);
}

void BoundsLegalizer::boundScatter(ScatterOp scatter) {
  OpBuilder b(scatter);
  dropIndices(scatter.getIndicesMutable());
  if (isa<BufferType>(scatter.getMemory().getType()))
    return fill(scatter.getValueMutable(), b.getZeroAttr(tileType(scatter.getValue()).getElementType()));
  Bounds r = bounds(scatter.getValue());
  if (r.isWhole()) return;
  Value flags = flagsOf(b, scatter.getLoc(), r, tileType(scatter.getValue()).getShape());
  if (scatter.getFlags()) flags = arith::AndIOp::create(b, scatter.getLoc(), flags, scatter.getFlags());
  scatter.getFlagsMutable().assign(flags);
}

/// Indices that are out of bounds access nothing: they are moved out of the tensor.
void BoundsLegalizer::dropIndices(MutableOperandRange indices) {
  Builder b(indices.getOwner()->getContext());
  for (OpOperand &index : indices)
    if (isTile(index.get())) fill(index, b.getI64IntegerAttr(-1));
}

/// An atomic with an operand that is out of bounds is dropped: its index is moved out of range.
void BoundsLegalizer::dropAtomics(Operation *op) {
  if (!isTile(op->getResult(0))) return;
  OpBuilder b(op);
  Bounds r = boundsOfElementwise(b, op, [&](Value v) { return bounds(v); });
  if (r.isWhole()) return;
  OpOperand &first = isa<AtomicOp>(op) ? cast<AtomicOp>(op).getIndicesMutable()[0]
                                       : cast<AtomicCasOp>(op).getIndicesMutable()[0];
  Location loc = op->getLoc();
  Type element = tileType(first.get()).getElementType();
  Value none = arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, -1)), index = first.get();
  if (r.flags) index = arith::SelectOp::create(b, loc, r.flags, index, splat(b, loc, index.getType(), none));
  first.set(r.hasBox() ? maskBox(b, loc, index, r.box, none) : index);
}

} // namespace tile
} // namespace tessera
