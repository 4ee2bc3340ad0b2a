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
// What else it means, and why, is decision 2 (docs/decisions/0002-absent-elements.md).
#include "compiler/pipeline/Passes.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>
#include <optional>

namespace tessera {
#define GEN_PASS_DEF_TILELEGALIZEABSENCE
#include "compiler/pipeline/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// One entry per axis; nullopt: every element is present.
using Box = SmallVector<std::optional<Interval>>;

bool isWhole(const Box &box) {
  return llvm::none_of(box, [](const auto &axis) { return axis.has_value(); });
}

class LegalizeAbsence : public impl::TileLegalizeAbsenceBase<LegalizeAbsence> {
  DenseMap<Value, Box> boxes_;
  DenseMap<Value, Value> unshaped_; // result of a reshape -> its operand before absent elements became 0

  void runOnOperation() override {
    boxes_.clear();
    unshaped_.clear();
    visit(getOperation().getBody().front());
  }

  /// In program order; the branches of an if before its results, what a loop starts with before its body.
  void visit(Block &block) {
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

  Value index(OpBuilder &b, Location loc, int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }

  Box box(Value v) {
    auto it = boxes_.find(v);
    return it != boxes_.end() ? it->second : Box(tileType(v).getRank());
  }

  Interval meet(OpBuilder &b, Location loc, Interval x, Interval y) {
    if (x.lo == y.lo && x.hi == y.hi) return x;
    return {x.lo == y.lo ? x.lo : arith::MaxSIOp::create(b, loc, x.lo, y.lo).getResult(),
            x.hi == y.hi ? x.hi : arith::MinSIOp::create(b, loc, x.hi, y.hi).getResult()};
  }

  void visit(Operation *op) {
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

  Box loadBox(OpBuilder &b, LoadOp load) {
    if (load.getInBounds()) return Box(tileType(load.getResult()).getRank());
    return windowBox(b, load.getLoc(), load.getView(), load.getStarts(), load.getExtents());
  }

  /// Present: 0 <= start + k < dim. An integer index that is out of range makes everything absent.
  Box windowBox(OpBuilder &b, Location loc, Value view, OperandRange starts, ArrayRef<int64_t> extents) {
    SmallVector<Value> sizes;
    for (size_t dim = 0; dim < starts.size(); ++dim)
      sizes.push_back(b.createOrFold<DimOp>(loc, b.getIndexType(), view, dim));
    return windowBox(b, loc, sizes, starts, extents,
                     [&](Value start, size_t dim) { return isProgramOf(start, view, dim); });
  }

  /// `isInside`: an index that is known to be in range. `filled`, where it is given, is the box that the
  /// memory has along each dim.
  Box windowBox(OpBuilder &b, Location loc, ArrayRef<Value> sizes, OperandRange starts,
                ArrayRef<int64_t> extents, llvm::function_ref<bool(Value, size_t)> isInside,
                const Box *filled = nullptr) {
    Box r;
    Value zero = index(b, loc, 0), allowed;
    auto require = [&](arith::CmpIPredicate p, Value x, Value y) {
      Value holds = arith::CmpIOp::create(b, loc, p, x, y);
      allowed = allowed ? arith::AndIOp::create(b, loc, allowed, holds).getResult() : holds;
    };
    for (auto [dim, pair] : llvm::enumerate(llvm::zip(starts, extents))) {
      auto [start, extent] = pair;
      std::optional<Interval> memory = filled ? (*filled)[dim] : std::nullopt;
      if (extent < 0) {
        if (!isInside(start, dim)) require(arith::CmpIPredicate::ult, start, sizes[dim]);
        if (memory) require(arith::CmpIPredicate::sge, start, memory->lo);
        if (memory) require(arith::CmpIPredicate::slt, start, memory->hi);
        continue;
      }
      IndexSign sign = signOf(start);
      Value from = saturatedIndex(b, loc, start, sign);
      Interval axis =
          presentInterval(b, loc, from, extent, memory ? memory->hi : sizes[dim], sign != IndexSign::Unknown);
      if (memory) {
        from = b.createOrFold<arith::MaxSIOp>(loc, from, index(b, loc, -extent));
        axis.lo = b.createOrFold<arith::MaxSIOp>(loc, axis.lo,
                                                 b.createOrFold<arith::SubIOp>(loc, memory->lo, from));
      }
      r.push_back(axis);
    }
    if (allowed && !r.empty()) r[0]->hi = arith::SelectOp::create(b, loc, allowed, r[0]->hi, zero);
    return r;
  }

  /// The index of an axis of programs, of which there are as many as the dim has elements: a batch's, never
  /// out of range. Both factors of a product then end at the same depth.
  bool isProgramOf(Value start, Value view, size_t dim) {
    auto id = start.getDefiningOp<ProgramIdOp>();
    auto arg = dyn_cast<BlockArgument>(view);
    if (!id || !arg) return false;
    KernelOp kernel = getOperation();
    auto dims = cast<DictionaryAttr>(kernel.getParams()[arg.getArgNumber()]).getAs<ArrayAttr>("dims");
    return dims && kernel.getGrid()[id.getAxis()] == dims[dim];
  }

  /// A shared buffer holds what its last whole copy brought. A part of it has its share of that box, and ends
  /// where the buffer does.
  Box bufferBox(OpBuilder &b, BufferReadOp read) {
    Box whole = copiedBox(b, read.getBuffer(), read);
    if (read.getStarts().empty()) return whole;
    b.setInsertionPoint(read);
    SmallVector<Value> sizes;
    for (int64_t extent : cast<BufferType>(read.getBuffer().getType()).getShape())
      sizes.push_back(index(b, read.getLoc(), extent));
    Box part = windowBox(
        b, read.getLoc(), sizes, read.getStarts(), *read.getExtents(), [](Value, size_t) { return false; },
        &whole);
    for (auto [axis, extent] : llvm::zip(part, tileType(read.getResult()).getShape()))
      if (isConstantIntValue(axis->lo, 0) && isConstantIntValue(axis->hi, extent)) axis = std::nullopt;
    return part;
  }

  static bool writes(Operation *op, Value buffer) {
    return op
        ->walk([&](Operation *inner) {
          auto copy = dyn_cast<CpAsyncOp>(inner);
          auto write = dyn_cast<BufferWriteOp>(inner);
          return (copy && copy.getBuffer() == buffer) || (write && write.getBuffer() == buffer)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The box of the one copy that reaches `reader`, looking back and outwards; whole when there is none, or
  /// when a loop around the reader fills the buffer again.
  Box copiedBox(OpBuilder &b, Value buffer, Operation *reader) {
    Box none(cast<BufferType>(buffer.getType()).getRank());
    for (Operation *at = reader; !isa<KernelOp>(at); at = at->getParentOp()) {
      if (at != reader && isa<LoopLikeOpInterface>(at) && writes(at, buffer)) return none;
      for (Operation *op = at->getPrevNode(); op; op = op->getPrevNode()) {
        if (auto copy = dyn_cast<CpAsyncOp>(op); copy && copy.getBuffer() == buffer) {
          b.setInsertionPoint(reader);
          return windowBox(b, reader->getLoc(), copy.getView(), copy.getStarts(), copy.getExtents());
        }
        if (writes(op, buffer)) return none;
      }
    }
    return none;
  }

  /// An axis of extent 1 that is absent stretches to a wholly absent one.
  Box broadcastBox(OpBuilder &b, BroadcastOp op) {
    Box r = box(op.getInput());
    Location loc = op.getLoc();
    auto from = tileType(op.getInput()).getShape(), to = tileType(op.getResult()).getShape();
    for (auto [axis, interval] : llvm::enumerate(r))
      if (interval && from[axis] != to[axis]) {
        Value present = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, interval->lo, interval->hi);
        Value zero = index(b, loc, 0);
        interval = Interval{zero, arith::SelectOp::create(b, loc, present, index(b, loc, to[axis]), zero)};
      }
    return r;
  }

  /// Intervals of every axis as operand lists; whole axes get [0, extent).
  void bounds(OpBuilder &b, Location loc, const Box &box, RankedTensorType type, SmallVector<Value> &lo,
              SmallVector<Value> &hi) {
    for (auto [axis, interval] : llvm::enumerate(box)) {
      lo.push_back(interval ? interval->lo : index(b, loc, 0));
      hi.push_back(interval ? interval->hi : index(b, loc, type.getDimSize(axis)));
    }
  }

  Value mask(OpBuilder &b, Location loc, Value v, const Box &box, Value fill) {
    SmallVector<Value> lo, hi;
    bounds(b, loc, box, tileType(v), lo, hi);
    return MaskOp::create(b, loc, v.getType(), v, fill, lo, hi);
  }

  void fill(OpOperand &operand, TypedAttr with) {
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
  void legalizeArgReduce(ArgReduceOp op) {
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
      first = index(b, loc, 0);
      for (auto [extent, axis] : llvm::zip(shape, box(inner)))
        first = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, first, index(b, loc, extent)),
                                      axis ? axis->lo : index(b, loc, 0));
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

  /// Absent elements already hold 0: a load, cast or moved about.
  bool readsZero(Value v) {
    Operation *op = v.getDefiningOp();
    if (isa_and_nonnull<LoadOp, BufferReadOp>(op)) return true;
    return isa_and_nonnull<CastOp, TransposeOp, ExpandDimsOp, BroadcastOp>(op) && isTile(op->getOperand(0)) &&
           readsZero(op->getOperand(0));
  }

  TypedAttr reduceNeutral(ReduceKind kind, bool isUnsigned, Type element) {
    Builder b(&getContext());
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

  /// The box of a product's factor, a tile or a shared buffer.
  Box factorBox(OpBuilder &b, MmaOp mma, Value factor) {
    return isTile(factor) ? box(factor) : copiedBox(b, factor, mma);
  }

  /// Where a factor ends, its zeros are not multiplied: the ends of its rows, columns and depth. What the
  /// product leaves out keeps the accumulator's elements, whatever the other factor holds.
  void limitMma(MmaOp mma, Box x, Box y) {
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
      return i ? i->hi : index(b, loc, extent);
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
  Value presence(OpBuilder &b, Location loc, const Box &box, RankedTensorType type) {
    auto flags = RankedTensorType::get(type.getShape(), b.getI1Type());
    Value ones = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(flags, true));
    return mask(b, loc, ones, box, arith::ConstantOp::create(b, loc, b.getBoolAttr(false)));
  }

  /// Absent along the contraction: both factors must be 0, or an infinity on one side would make a NaN.
  void legalizeMma(MmaOp mma) {
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

  /// Intervals built from the same start, extent and size.
  static bool provablySame(const std::optional<Interval> &x, const std::optional<Interval> &y) {
    return x && y && sameExpression(x->lo, y->lo) && sameExpression(x->hi, y->hi);
  }
  static bool sameExpression(Value x, Value y, int depth = 10) {
    if (x == y) return true;
    Operation *p = x.getDefiningOp(), *q = y.getDefiningOp();
    if (!p || !q || !depth || p->getName() != q->getName() || p->getNumOperands() != q->getNumOperands())
      return false;
    if (p->getAttrDictionary() != q->getAttrDictionary()) return false;
    return llvm::all_of(llvm::zip(p->getOperands(), q->getOperands()), [&](auto pair) {
      return sameExpression(std::get<0>(pair), std::get<1>(pair), depth - 1);
    });
  }

  void boundStore(StoreOp store) {
    Box r = box(store.getValue());
    if (isWhole(r) || !store.getLower().empty()) return;
    OpBuilder b(store);
    SmallVector<Value> lo, hi;
    bounds(b, store.getLoc(), r, tileType(store.getValue()), lo, hi);
    store.getLowerMutable().assign(lo);
    store.getUpperMutable().assign(hi);
  }

  /// An atomic of an absent element is dropped: its index is moved out of range.
  void dropAtomics(Operation *op) {
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

  // ---- Regions. What a region carries or results in has a box when that box is known before the region
  // begins and every value that can stand there respects it.

  /// A value's box beside a given one: it has none, the same, a part of it, or any other.
  enum class Kept { Whole, Same, Within, Other };

  /// Of an elementwise op on two values: the intersection.
  static Kept intersect(Kept x, Kept y) {
    if (x == Kept::Whole || x == y) return y;
    if (y == Kept::Whole) return x;
    return Kept::Within; // unequal, and one of them lies in the box
  }

  static bool sameBox(const Box &x, const Box &y) {
    return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto pair) {
             auto [p, q] = pair;
             return (!p && !q) || provablySame(p, q);
           });
  }

  /// How the box of `v` relates to `outer`, given that the values in `assumed` have that box.
  Kept kept(Value v, const Box &outer, const llvm::SmallPtrSetImpl<Value> &assumed) {
    DenseMap<Value, Kept> known; // each value once, however many users it has
    return kept(v, outer, assumed, known);
  }

  Kept kept(Value v, const Box &outer, const llvm::SmallPtrSetImpl<Value> &assumed,
            DenseMap<Value, Kept> &known) {
    if (auto it = known.find(v); it != known.end()) return it->second;
    Kept result = keptOf(v, outer, assumed, known);
    known[v] = result;
    return result;
  }

  Kept keptOf(Value v, const Box &outer, const llvm::SmallPtrSetImpl<Value> &assumed,
              DenseMap<Value, Kept> &known) {
    if (assumed.contains(v)) return Kept::Same;
    if (auto it = boxes_.find(v); it != boxes_.end())
      return isWhole(it->second) ? Kept::Whole : sameBox(it->second, outer) ? Kept::Same : Kept::Other;
    Operation *op = v.getDefiningOp();
    if (!op) return Kept::Whole;
    if (isa<LoadOp, BufferReadOp>(op)) return Kept::Other;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned n = cast<OpResult>(v).getResultNumber();
      Kept x = kept(branch.thenYield().getOperand(n), outer, assumed, known);
      Kept y = kept(branch.elseYield().getOperand(n), outer, assumed, known);
      auto within = [](Kept k) { return k == Kept::Same || k == Kept::Within; };
      return x == y ? x : within(x) && within(y) ? Kept::Within : Kept::Other;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned n = cast<OpResult>(v).getResultNumber();
      Kept x = kept(loop.getInitArgs()[n], outer, assumed, known);
      llvm::SmallPtrSet<Value, 8> inner(assumed.begin(), assumed.end());
      inner.insert(loop.getRegionIterArg(n));
      Kept turn = kept(loop.getBody()->getTerminator()->getOperand(n), outer, inner);
      return x == Kept::Same && (turn == Kept::Same || turn == Kept::Within) ? x : Kept::Whole;
    }
    Kept all = Kept::Whole;
    if (isElementwise(op) || isa<ScanOp>(op)) {
      for (Value operand : op->getOperands())
        if (isTile(operand)) all = intersect(all, kept(operand, outer, assumed, known));
    } else if (isa<BroadcastOp, ExpandDimsOp, TransposeOp>(op) && isTile(op->getOperand(0)) &&
               kept(op->getOperand(0), outer, assumed, known) != Kept::Whole) {
      all = Kept::Other;
    }
    return all;
  }

  /// What a loop starts with, the argument for it and the values that stand for that in the loop, and what a
  /// turn gives back.
  struct Carried {
    Value init;
    SmallVector<Value, 2> names;
    Value next;
  };

  /// Elements absent at the start stay absent when every turn computes the new value from the old one
  /// (elementwise): gives each such argument and its names the box of the initial value.
  void boxesOfCarried(ArrayRef<Carried> all) {
    SmallVector<std::pair<const Carried *, Box>> found;
    for (const Carried &c : all) {
      if (!isTile(c.init) || isWhole(box(c.init))) continue;
      // Assume it of every argument that starts with this box, and drop those that do not keep it.
      Box start = box(c.init);
      llvm::SmallPtrSet<Value, 8> assumed;
      SmallVector<const Carried *> candidates;
      for (const Carried &other : all)
        if (isTile(other.init) && sameBox(box(other.init), start)) {
          candidates.push_back(&other);
          assumed.insert(other.names.begin(), other.names.end());
        }
      for (bool changed = true; changed;) {
        changed = false;
        llvm::erase_if(candidates, [&](const Carried *other) {
          Kept turn = kept(other->next, start, assumed);
          if (turn == Kept::Same || turn == Kept::Within) return false;
          for (Value name : other->names)
            assumed.erase(name);
          return changed = true;
        });
      }
      if (llvm::is_contained(candidates, &c)) found.push_back({&c, start});
    }
    for (auto &[c, start] : found)
      for (Value name : c->names)
        boxes_[name] = start;
  }

  void boxesOfFor(scf::ForOp loop) {
    SmallVector<Carried> carried;
    for (auto [init, arg, next] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                                            loop.getBody()->getTerminator()->getOperands()))
      carried.push_back({init, {arg}, next});
    boxesOfCarried(carried);
    for (auto [arg, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
      if (isTile(arg)) boxes_[result] = box(arg);
    fillOthers(loop.getInitArgsMutable(), loop.getRegionIterArgs());
  }

  /// In the body of a while, what the condition passed on stands for the argument.
  void boxesOfWhile(scf::WhileOp loop) {
    SmallVector<Carried> carried;
    for (auto [init, arg, next] :
         llvm::zip(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp().getOperands())) {
      carried.push_back({init, {arg}, next});
      for (auto [passed, inner] : llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments()))
        if (passed == arg) carried.back().names.push_back(inner);
    }
    boxesOfCarried(carried);
    for (auto [inner, result] : llvm::zip(loop.getAfterArguments(), loop.getResults()))
      if (isTile(inner)) boxes_[result] = box(inner);
    fillOthers(loop.getInitsMutable(), loop.getBeforeArguments());
  }

  /// An if gives the values of the branch that was taken, absent elements and all: where the branches' boxes
  /// are not one that is known outside, the ends of the box become results beside the tile.
  void boxesOfIf(scf::IfOp branch) {
    struct Extra {
      unsigned result, axis;
    };
    SmallVector<Extra> extras;
    SmallVector<Value> thenEnds, elseEnds;
    SmallVector<std::pair<unsigned, Box>> outer;
    for (auto [n, result] : llvm::enumerate(branch.getResults())) {
      if (!isTile(result)) continue;
      Box x = box(branch.thenYield().getOperand(n)), y = box(branch.elseYield().getOperand(n));
      if (isWhole(x) && isWhole(y)) continue;
      if (sameBox(x, y) && isOutside(x, branch)) {
        outer.push_back({n, x});
        continue;
      }
      for (size_t axis = 0; axis < x.size(); ++axis) {
        if (!x[axis] && !y[axis]) continue;
        extras.push_back({static_cast<unsigned>(n), static_cast<unsigned>(axis)});
        int64_t extent = tileType(result).getDimSize(axis);
        ends(branch.thenYield(), x[axis], extent, thenEnds);
        ends(branch.elseYield(), y[axis], extent, elseEnds);
      }
    }
    unsigned had = branch.getNumResults();
    if (!extras.empty()) {
      branch.thenYield()->insertOperands(had, thenEnds);
      branch.elseYield()->insertOperands(had, elseEnds);
      SmallVector<Type> types(branch.getResultTypes());
      types.append(thenEnds.size(), IndexType::get(&getContext()));
      OpBuilder b(branch);
      auto wider =
          scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
      wider.getThenRegion().takeBody(branch.getThenRegion());
      wider.getElseRegion().takeBody(branch.getElseRegion());
      wider->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
      branch->replaceAllUsesWith(wider->getResults().take_front(had));
      branch.erase();
      branch = wider;
    }
    for (auto &[n, b] : outer)
      boxes_[branch.getResult(n)] = b;
    for (auto [i, extra] : llvm::enumerate(extras)) {
      Value result = branch.getResult(extra.result);
      Box &b = boxes_.try_emplace(result, Box(tileType(result).getRank())).first->second;
      b[extra.axis] = Interval{branch.getResult(had + 2 * i), branch.getResult(had + 2 * i + 1)};
    }
  }

  void ends(Operation *before, const std::optional<Interval> &interval, int64_t extent,
            SmallVector<Value> &out) {
    OpBuilder b(before);
    out.push_back(interval ? interval->lo : index(b, before->getLoc(), 0));
    out.push_back(interval ? interval->hi : index(b, before->getLoc(), extent));
  }

  static bool isOutside(const Box &box, Operation *region) {
    return llvm::all_of(box, [&](std::optional<Interval> axis) {
      return !axis || (!region->isAncestor(axis->lo.getParentBlock()->getParentOp()) &&
                       !region->isAncestor(axis->hi.getParentBlock()->getParentOp()));
    });
  }

  /// The condition of `x if c else y`, which takes all of one side; null for `where`, which takes elements.
  static Value scalarCondition(arith::SelectOp op) {
    return isTile(op.getCondition()) ? Value() : op.getCondition();
  }

  /// `x if c else y`: of the one that is chosen.
  Box chosenBox(OpBuilder &b, arith::SelectOp op) {
    Box x = box(op.getTrueValue()), y = box(op.getFalseValue()), r(x.size());
    Location loc = op.getLoc();
    auto shape = tileType(op.getResult()).getShape();
    for (size_t axis = 0; axis < x.size(); ++axis) {
      if (!x[axis] && !y[axis]) continue;
      auto end = [&](const std::optional<Interval> &i, bool low) {
        return i ? (low ? i->lo : i->hi) : index(b, loc, low ? 0 : shape[axis]);
      };
      auto choose = [&](bool low) {
        Value p = end(x[axis], low), q = end(y[axis], low);
        return p == q ? p : arith::SelectOp::create(b, loc, scalarCondition(op), p, q).getResult();
      };
      r[axis] = Interval{choose(true), choose(false)};
    }
    return r;
  }

  /// Initial values whose argument is whole hold 0 where they were absent.
  void fillOthers(MutableOperandRange inits, ValueRange args) {
    for (auto [i, arg] : llvm::enumerate(args))
      if (isTile(arg) && isWhole(box(arg)))
        fill(inits[i], OpBuilder(&getContext()).getZeroAttr(tileType(arg).getElementType()));
  }

  void keepAbsent(scf::YieldOp yield) {
    if (isa<scf::IfOp>(yield->getParentOp())) return;
    auto loop = cast<LoopLikeOpInterface>(yield->getParentOp());
    for (auto [arg, use] : llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands())) {
      if (!isTile(arg) || isWhole(box(use.get())) || sameBox(box(use.get()), box(arg))) continue;
      Value old = arg;
      if (auto loopWhile = dyn_cast<scf::WhileOp>(yield->getParentOp())) {
        old = {};
        for (auto [passed, inner] :
             llvm::zip(loopWhile.getConditionOp().getArgs(), loopWhile.getAfterArguments()))
          if (passed == arg) old = inner;
      }
      if (!old) { // out of reach
        fill(use, OpBuilder(&getContext()).getZeroAttr(tileType(arg).getElementType()));
        continue;
      }
      OpBuilder b(yield);
      Location loc = yield.getLoc();
      Value present = presence(b, loc, box(use.get()), tileType(arg));
      use.set(arith::SelectOp::create(b, loc, present, use.get(), old));
    }
  }
};

} // namespace
} // namespace tessera
