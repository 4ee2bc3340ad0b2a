// tile-legalize-absence (normative phase 3): makes the absence of elements past a tensor's edge explicit.
//
// A load leaves 0 in absent elements. Absence is a box per tile, [lo, hi) per axis, followed through
// elementwise ops and broadcasts; where it would be seen it becomes a mask or a bound:
//
//   %x = tile.load %A[%i] extents [64]             %x = tile.load %A[%i] extents [64]
//   %e = tile.exp %x                        ->     %e = tile.exp %x
//   %s = tile.reduce sum %e axis 0                 %m = tile.mask %e, %zero bounds(%lo to %hi)
//                                                  %s = tile.reduce sum %m axis 0
//
// What else it means, and why, is docs/decisions/0002. AbsenceOfReads.cpp finds the boxes of what is read,
// AbsenceInRegions.cpp those of what loops and branches carry.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/AbsentElements.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tessera {
#define GEN_PASS_DEF_TILELEGALIZEABSENCE
#include "compiler/tile/Transforms/Passes.h.inc"

namespace {
struct LegalizeAbsence : impl::TileLegalizeAbsenceBase<LegalizeAbsence> {
  void runOnOperation() override { tile::AbsentElements().visit(getOperation().getBody().front()); }
};
} // namespace

namespace tile {
namespace {

TypedAttr reduceNeutral(ReduceKind kind, bool isUnsigned, Type element) {
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

/// Absent elements already hold 0: a load, cast or moved about.
bool readsZero(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<LoadOp, BufferReadOp>(op)) return true;
  return isa_and_nonnull<CastOp, TransposeOp, ExpandDimsOp, BroadcastOp>(op) && isTile(op->getOperand(0)) &&
         readsZero(op->getOperand(0));
}

/// The condition of `x if c else y`, which takes all of one side; null for `where`, which takes elements.
Value scalarCondition(arith::SelectOp op) { return isTile(op.getCondition()) ? Value() : op.getCondition(); }

} // namespace

Value indexConstant(OpBuilder &b, Location loc, int64_t v) {
  return arith::ConstantIndexOp::create(b, loc, v);
}

bool isWhole(const Box &box) {
  return llvm::none_of(box, [](const auto &axis) { return axis.has_value(); });
}

bool sameExpression(Value x, Value y, int depth) {
  if (x == y) return true;
  Operation *p = x.getDefiningOp(), *q = y.getDefiningOp();
  if (!p || !q || !depth || p->getName() != q->getName() || p->getNumOperands() != q->getNumOperands())
    return false;
  if (p->getAttrDictionary() != q->getAttrDictionary()) return false;
  return llvm::all_of(llvm::zip(p->getOperands(), q->getOperands()), [&](auto pair) {
    return sameExpression(std::get<0>(pair), std::get<1>(pair), depth - 1);
  });
}

bool provablySame(const std::optional<Interval> &x, const std::optional<Interval> &y) {
  return x && y && sameExpression(x->lo, y->lo) && sameExpression(x->hi, y->hi);
}

bool sameBox(const Box &x, const Box &y) {
  return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto pair) {
           auto [p, q] = pair;
           return (!p && !q) || provablySame(p, q);
         });
}

void AbsentElements::visit(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      boxesOfFor(loop);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      boxesOfWhile(loop);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        visit(inner);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      boxesOfIf(branch);
    else
      visit(&op);
  }
}

Box AbsentElements::box(Value v) {
  auto it = boxes_.find(v);
  return it != boxes_.end() ? it->second : Box(tileType(v).getRank());
}

Interval AbsentElements::meet(OpBuilder &b, Location loc, Interval x, Interval y) {
  if (x.lo == y.lo && x.hi == y.hi) return x;
  return {x.lo == y.lo ? x.lo : arith::MaxSIOp::create(b, loc, x.lo, y.lo).getResult(),
          x.hi == y.hi ? x.hi : arith::MinSIOp::create(b, loc, x.hi, y.hi).getResult()};
}

void AbsentElements::visit(Operation *op) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  if (auto load = dyn_cast<LoadOp>(op)) {
    boxes_[load.getResult()] = loadBox(b, load);
  } else if (auto bufferRead = dyn_cast<BufferReadOp>(op)) {
    boxes_[bufferRead.getResult()] = bufferBox(b, bufferRead);
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    if (isTile(broadcast.getInput())) boxes_[broadcast.getResult()] = broadcastBox(b, broadcast);
  } else if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    Box r = box(expand.getInput());
    r.insert(r.begin() + expand.getAxis(), std::nullopt);
    boxes_[expand.getResult()] = r;
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Box r = box(transpose.getInput());
    std::swap(r[r.size() - 1], r[r.size() - 2]);
    boxes_[transpose.getResult()] = r;
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    fill(reduce->getOpOperand(0), reduceNeutral(reduce.getKind(), reduce.getIsUnsigned(),
                                                tileType(reduce.getInput()).getElementType()));
  } else if (auto arg = dyn_cast<ArgReduceOp>(op)) {
    legalizeArgReduce(arg);
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    Box r = box(scan.getInput());
    fill(scan->getOpOperand(0),
         reduceNeutral(scan.getKind() == ScanKind::Sum ? ReduceKind::Sum : ReduceKind::Max,
                       scan.getIsUnsigned(), tileType(scan.getInput()).getElementType()));
    boxes_[scan.getResult()] = r;
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    unshaped_[reshape.getResult()] = reshape.getInput();
    fill(reshape->getOpOperand(0), b.getZeroAttr(tileType(reshape.getInput()).getElementType()));
  } else if (isa<ConcatOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get())) fill(operand, b.getZeroAttr(tileType(operand.get()).getElementType()));
  } else if (auto mma = dyn_cast<MmaOp>(op)) {
    legalizeMma(mma);
    boxes_[mma.getResult()] = box(mma.getAcc()); // as mma(a, b) + acc
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    boundStore(store);
  } else if (isa<AtomicOp, AtomicCasOp>(op)) {
    dropAtomics(op);
  } else if (auto write = dyn_cast<BufferWriteOp>(op)) {
    fill(write->getOpOperand(0), b.getZeroAttr(tileType(write.getValue()).getElementType()));
  } else if (auto select = dyn_cast<arith::SelectOp>(op);
             select && isTile(select.getResult()) && scalarCondition(select)) {
    boxes_[select.getResult()] = chosenBox(b, select);
  } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    keepAbsent(yield);
  } else if (isElementwise(op) && isTile(op->getResult(0))) {
    Box r(tileType(op->getResult(0)).getRank());
    for (Value operand : op->getOperands()) {
      if (!isTile(operand)) continue;
      for (auto [mine, other] : llvm::zip(r, box(operand)))
        if (other) mine = mine ? meet(b, loc, *mine, *other) : *other;
    }
    boxes_[op->getResult(0)] = r;
  }
}

/// An axis of extent 1 that is absent stretches to a wholly absent one.
Box AbsentElements::broadcastBox(OpBuilder &b, BroadcastOp op) {
  Box r = box(op.getInput());
  Location loc = op.getLoc();
  auto from = tileType(op.getInput()).getShape(), to = tileType(op.getResult()).getShape();
  for (auto [axis, interval] : llvm::enumerate(r))
    if (interval && from[axis] != to[axis]) {
      Value present = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, interval->lo, interval->hi);
      Value zero = indexConstant(b, loc, 0);
      interval =
          Interval{zero, arith::SelectOp::create(b, loc, present, indexConstant(b, loc, to[axis]), zero)};
    }
  return r;
}

/// Intervals of every axis as operand lists; whole axes get [0, extent).
void AbsentElements::bounds(OpBuilder &b, Location loc, const Box &box, RankedTensorType type,
                            SmallVector<Value> &lo, SmallVector<Value> &hi) {
  for (auto [axis, interval] : llvm::enumerate(box)) {
    lo.push_back(interval ? interval->lo : indexConstant(b, loc, 0));
    hi.push_back(interval ? interval->hi : indexConstant(b, loc, type.getDimSize(axis)));
  }
}

Value AbsentElements::mask(OpBuilder &b, Location loc, Value v, const Box &box, Value fill) {
  SmallVector<Value> lo, hi;
  bounds(b, loc, box, tileType(v), lo, hi);
  return MaskOp::create(b, loc, v.getType(), v, fill, lo, hi);
}

void AbsentElements::fill(OpOperand &operand, TypedAttr with) {
  Box r = box(operand.get());
  OpBuilder b(operand.getOwner());
  bool isZero = with == b.getZeroAttr(with.getType());
  if (isWhole(r) || (isZero && readsZero(operand.get()))) return;
  Location loc = operand.getOwner()->getLoc();
  operand.set(mask(b, loc, operand.get(), r, arith::ConstantOp::create(b, loc, with)));
}

/// The position of an extreme. The neutral element may tie with present ones, so that an absent position in
/// front of them would win: such a result moves up to the first present one. The argmax of a whole tile is
/// that of the flattened tile; there the operand of the reshape takes the neutral element.
void AbsentElements::legalizeArgReduce(ArgReduceOp op) {
  OpOperand &operand = op->getOpOperand(0);
  OpBuilder b(op);
  Location loc = op.getLoc();
  TypedAttr neutral = reduceNeutral(op.getKind() == ArgKind::Max ? ReduceKind::Max : ReduceKind::Min,
                                    op.getIsUnsigned(), tileType(op.getInput()).getElementType());
  Value first; // position of the first present element
  if (Value inner = unshaped_.lookup(operand.get()); inner && !isWhole(box(inner))) {
    Value filled = mask(b, loc, inner, box(inner), arith::ConstantOp::create(b, loc, neutral));
    operand.set(ReshapeOp::create(b, loc, operand.get().getType(), filled));
    auto shape = tileType(inner).getShape();
    first = indexConstant(b, loc, 0);
    for (auto [extent, axis] : llvm::zip(shape, box(inner)))
      first =
          arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, first, indexConstant(b, loc, extent)),
                                axis ? axis->lo : indexConstant(b, loc, 0));
  } else {
    auto interval = box(operand.get())[op.getAxis()];
    fill(operand, neutral);
    if (interval) first = interval->lo;
  }
  if (!first) return;
  b.setInsertionPointAfter(op);
  first = arith::IndexCastOp::create(b, loc, b.getI32Type(), first);
  if (isTile(op.getResult())) first = BroadcastOp::create(b, loc, op.getResult().getType(), first);
  Operation *moved = arith::MaxSIOp::create(b, loc, op.getResult(), first);
  op.getResult().replaceAllUsesExcept(moved->getResult(0), moved);
}

/// The box of a product's factor, a tile or a shared buffer.
Box AbsentElements::factorBox(OpBuilder &b, MmaOp mma, Value factor) {
  return isTile(factor) ? box(factor) : copiedBox(b, factor, mma);
}

/// Where a factor ends, its zeros are not multiplied: the ends of its rows, columns and depth. What the
/// product leaves out keeps the accumulator's elements, whatever the other factor holds.
void AbsentElements::limitMma(MmaOp mma, Box x, Box y) {
  OpBuilder b(mma);
  Location loc = mma.getLoc();
  if (mma.getTransA()) std::swap(x[0], x[1]);
  if (mma.getTransB()) std::swap(y[0], y[1]);
  if (isWhole(x) && isWhole(y)) return;
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
  // The limits are ends. Where rows or columns may begin later, the accumulator is put back.
  auto beginsLater = [](const std::optional<Interval> &i) { return i && !isConstantIntValue(i->lo, 0); };
  if (!beginsLater(x[0]) && !beginsLater(y[1])) return;
  b.setInsertionPointAfter(mma);
  Value inside = presence(b, loc, {x[0], y[1]}, tileType(mma.getAcc()));
  Value result = arith::SelectOp::create(b, loc, inside, mma.getResult(), mma.getAcc());
  mma.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
  boxes_[result] = box(mma.getAcc());
}

/// Tile of i1: which elements of a tile like `type` a box holds.
Value AbsentElements::presence(OpBuilder &b, Location loc, const Box &box, RankedTensorType type) {
  auto flags = RankedTensorType::get(type.getShape(), b.getI1Type());
  Value ones = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(flags, true));
  return mask(b, loc, ones, box, arith::ConstantOp::create(b, loc, b.getBoolAttr(false)));
}

/// Absent along the contraction: both factors must be 0, or an infinity on one side would make a NaN.
void AbsentElements::legalizeMma(MmaOp mma) {
  // As they were read: a masked factor has no box any more.
  OpBuilder b(mma);
  const Box boxes[] = {factorBox(b, mma, mma.getA()), factorBox(b, mma, mma.getB())};
  limitMma(mma, boxes[0], boxes[1]);
  for (int side : {0, 1}) {
    OpOperand &operand = mma->getOpOperand(side);
    Type element = isTile(operand.get())
                       ? tileType(operand.get()).getElementType()
                       : loadedElementType(cast<BufferType>(operand.get().getType()).getElementType());
    if (isTile(operand.get())) fill(operand, b.getZeroAttr(element));
    bool trans = side == 0 ? mma.getTransA() : mma.getTransB();
    bool otherTrans = side == 0 ? mma.getTransB() : mma.getTransA();
    unsigned kAxis = (side == 0) != trans ? 1 : 0, otherK = (side == 0) != otherTrans ? 0 : 1;
    auto theirs = boxes[1 - side][otherK], mine = boxes[side][kAxis];
    if (!theirs || (mine && mine->lo == theirs->lo && mine->hi == theirs->hi) || provablySame(mine, theirs))
      continue;
    b.setInsertionPoint(mma);
    Location loc = mma.getLoc();
    Value factor = operand.get();
    if (auto buffer = dyn_cast<BufferType>(factor.getType()))
      factor = BufferReadOp::create(b, loc, RankedTensorType::get(buffer.getShape(), element), factor);
    Box r(2);
    r[kAxis] = theirs;
    operand.set(mask(b, loc, factor, r, arith::ConstantOp::create(b, loc, b.getZeroAttr(element))));
  }
}

void AbsentElements::boundStore(StoreOp store) {
  Box r = box(store.getValue());
  if (isWhole(r) || !store.getLower().empty()) return;
  OpBuilder b(store);
  SmallVector<Value> lo, hi;
  bounds(b, store.getLoc(), r, tileType(store.getValue()), lo, hi);
  store.getLowerMutable().assign(lo);
  store.getUpperMutable().assign(hi);
}

/// An atomic of an absent element is dropped: its index is moved out of range.
void AbsentElements::dropAtomics(Operation *op) {
  if (!isTile(op->getResult(0))) return;
  OpBuilder b(op);
  Box r(tileType(op->getResult(0)).getRank());
  for (Value operand : op->getOperands()) {
    if (!isTile(operand)) continue;
    for (auto [mine, other] : llvm::zip(r, box(operand)))
      if (other) mine = mine ? meet(b, op->getLoc(), *mine, *other) : *other;
  }
  if (isWhole(r)) return;
  OpOperand &first = isa<AtomicOp>(op) ? cast<AtomicOp>(op).getIndicesMutable()[0]
                                       : cast<AtomicCasOp>(op).getIndicesMutable()[0];
  Type element = tileType(first.get()).getElementType();
  first.set(mask(b, op->getLoc(), first.get(), r,
                 arith::ConstantOp::create(b, op->getLoc(), b.getIntegerAttr(element, -1))));
}

/// `x if c else y`: of the one that is chosen.
Box AbsentElements::chosenBox(OpBuilder &b, arith::SelectOp op) {
  Box x = box(op.getTrueValue()), y = box(op.getFalseValue()), r(x.size());
  Location loc = op.getLoc();
  auto shape = tileType(op.getResult()).getShape();
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (!x[axis] && !y[axis]) continue;
    auto end = [&](const std::optional<Interval> &i, bool low) {
      return i ? (low ? i->lo : i->hi) : indexConstant(b, loc, low ? 0 : shape[axis]);
    };
    auto choose = [&](bool low) {
      Value p = end(x[axis], low), q = end(y[axis], low);
      return p == q ? p : arith::SelectOp::create(b, loc, scalarCondition(op), p, q).getResult();
    };
    r[axis] = Interval{choose(true), choose(false)};
  }
  return r;
}

} // namespace tile
} // namespace tessera
