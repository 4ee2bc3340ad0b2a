// Bounds of tiles that loops and branches carry. Such a tile has bounds if they are known before the region
// begins and every value of the variable respects them.
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/Transforms/BoundsLegalizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// The bounds of a value compared with given ones: it is whole, or has the same, a part of them, or others.
enum class Kept { Whole, Same, Within, Other };

/// For an elementwise op on two values: the intersection.
Kept intersect(Kept x, Kept y) {
  if (x == Kept::Whole || x == y) return y;
  if (y == Kept::Whole) return x;
  return Kept::Within; // unequal, and one of them is inside the bounds
}

/// Compares the bounds of values with given ones.
class KeptBounds {
public:
  explicit KeptBounds(const DenseMap<Value, Bounds> &all) : bounds_(all) {}

  /// Returns how the bounds of `v` compare with `outer`, if the values in `assumed` have the bounds `outer`.
  Kept kept(Value v, const Bounds &outer, const llvm::SmallPtrSetImpl<Value> &assumed) {
    DenseMap<Value, Kept> known; // each value is visited once, however many users it has
    return kept(v, outer, assumed, known);
  }

private:
  Kept kept(Value v, const Bounds &outer, const llvm::SmallPtrSetImpl<Value> &assumed,
            DenseMap<Value, Kept> &known) {
    if (auto it = known.find(v); it != known.end()) return it->second;
    Kept result = keptOf(v, outer, assumed, known);
    known[v] = result;
    return result;
  }

  Kept keptOf(Value v, const Bounds &outer, const llvm::SmallPtrSetImpl<Value> &assumed,
              DenseMap<Value, Kept> &known) {
    if (assumed.contains(v)) return Kept::Same;
    if (auto it = bounds_.find(v); it != bounds_.end()) {
      if (it->second.isWhole()) return Kept::Whole;
      return sameBounds(it->second, outer) ? Kept::Same : Kept::Other;
    }
    Operation *op = v.getDefiningOp();
    if (!op) return Kept::Whole;
    if (isa<LoadOp, GatherOp, KeepOp, BufferReadOp, ReduceOp, ArgReduceOp, SortOp, SliceOp, FlipOp, ReshapeOp,
            ConcatOp>(op))
      return Kept::Other;
    if (auto mma = dyn_cast<MmaOp>(op)) // it may be in bounds of less than the accumulator
      return intersect(kept(mma.getAcc(), outer, assumed, known), Kept::Other);
    auto select = dyn_cast<arith::SelectOp>(op);
    if (isa<WhereOp>(op) || (select && !isTile(select.getCondition()))) {
      auto ofOperand = [&](unsigned i) { return kept(op->getOperand(i), outer, assumed, known); };
      Kept c = select ? Kept::Whole : ofOperand(0), x = ofOperand(1), y = ofOperand(2);
      return c == Kept::Same ? c : x == y ? intersect(x, c) : Kept::Other;
    }
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
      Kept next = kept(loop.getBody()->getTerminator()->getOperand(n), outer, inner);
      return x == Kept::Same && (next == Kept::Same || next == Kept::Within) ? x : Kept::Whole;
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

  const DenseMap<Value, Bounds> &bounds_;
};

bool isOutside(std::optional<Interval> axis, Operation *region) {
  return !axis || (!region->isAncestor(axis->lo.getParentBlock()->getParentOp()) &&
                   !region->isAncestor(axis->hi.getParentBlock()->getParentOp()));
}

/// Returns Interval::lo and hi of an axis of `extent` elements, emitted before an operation.
void appendEnds(Operation *before, const std::optional<Interval> &interval, int64_t extent,
                SmallVector<Value> &out) {
  OpBuilder b(before);
  out.push_back(interval ? interval->lo : indexConstant(b, before->getLoc(), 0));
  out.push_back(interval ? interval->hi : indexConstant(b, before->getLoc(), extent));
}

/// What is in bounds along one axis of a tile: an interval, and flags of rank 1, which may be null.
struct Line {
  std::optional<Interval> ends = {};
  Value flags = {};
};

/// The bounds that a product inside a loop has in every iteration, as far as they are known before the loop:
/// those of the rows of its first factor and of the columns of its second.
class InvariantBounds {
public:
  /// `visit` computes the bounds of an operation that was moved before the loop.
  InvariantBounds(scf::ForOp loop, const DenseMap<Value, Bounds> &all,
                  llvm::function_ref<void(Operation *)> visit)
      : loop_(loop), bounds_(all), visit_(visit) {}

  /// Returns the bounds of the next value of `carried` if it is a product added to `carried`; whole
  /// otherwise.
  Bounds ofProduct(Value next, Value carried) {
    RankedTensorType type = tileType(next);
    Bounds r = Bounds::whole(type.getRank());
    if (type.getRank() != 2 || !isProductOnto(next, carried)) return r;
    OpBuilder b(loop_);
    for (unsigned axis : {0u, 1u}) {
      Line line = of(next, axis);
      r.box[axis] = line.ends;
      Value flags = spreadFlags(b, loop_.getLoc(), line.flags, axis, type.getShape());
      r.flags = intersectFlags(b, loop_.getLoc(), r.flags, flags);
    }
    return r;
  }

private:
  bool isOutside(Value v) { return !loop_->isAncestor(v.getParentBlock()->getParentOp()); }

  /// Is the value known before the loop? Arithmetic on known values is moved there, and so are reads of tiles
  /// and scalars if the loop writes no tensor.
  bool moveOutside(Value v) {
    if (isOutside(v)) return true;
    Operation *op = v.getDefiningOp();
    if (!op || op->getNumRegions() ||
        !(isPure(op) || (isa<LoadOp, LoadElemOp, GatherOp>(op) && !writesTensors())))
      return false;
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return moveOutside(operand); })) return false;
    op->moveBefore(loop_);
    if (llvm::any_of(op->getResultTypes(), [](Type type) { return isTile(type); })) visit_(op);
    return true;
  }

  bool writesTensors() {
    if (!writesTensors_)
      writesTensors_ =
          loop_
              ->walk([](Operation *op) {
                return isa<StoreOp, StoreElemOp, ScatterOp, AtomicOp, AtomicCasOp, BarrierOp, FenceOp>(op)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
    return *writesTensors_;
  }

  /// Follows elementwise operations from a product whose accumulator is `carried`, itself possibly changed
  /// elementwise. Operations inside an if are not followed, because the if may skip them.
  bool isProductOnto(Value v, Value carried) {
    bool hasProduct = false;
    while (Operation *op = v.getDefiningOp()) {
      if (isOutside(v)) return false;
      if (auto mma = dyn_cast<MmaOp>(op)) {
        hasProduct = true;
        v = mma.getAcc();
      } else if (auto inner = dyn_cast<scf::ForOp>(op)) {
        unsigned n = cast<OpResult>(v).getResultNumber();
        if (!isProductOnto(inner.getBody()->getTerminator()->getOperand(n), inner.getRegionIterArg(n)))
          return false;
        hasProduct = true;
        v = inner.getInitArgs()[n];
      } else if (isElementwise(op)) {
        // Continue with the one operand that depends on `carried`.
        auto reached = llvm::make_filter_range(
            op->getOperands(), [&](Value operand) { return isTile(operand) && reaches(operand, carried); });
        if (!llvm::hasSingleElement(reached)) return false;
        v = *reached.begin();
        for (Value operand : op->getOperands())
          hasProduct |= operand != v && isTile(operand) && isProduct(operand);
      } else {
        return false;
      }
    }
    return hasProduct && v == carried;
  }

  /// Finds a product in the loop's body, possibly changed elementwise.
  bool isProduct(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op || isOutside(v)) return false;
    if (auto it = products_.find(v); it != products_.end()) return it->second;
    bool r = isa<MmaOp>(op) || (isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                                  return isTile(operand) && isProduct(operand);
                                }));
    return products_[v] = r;
  }

  bool reaches(Value v, Value carried) {
    if (v == carried) return true;
    Operation *op = v.getDefiningOp();
    if (!op || isOutside(v)) return false;
    if (auto it = reached_.find({v, carried}); it != reached_.end()) return it->second;
    bool r = false;
    if (auto mma = dyn_cast<MmaOp>(op))
      r = reaches(mma.getAcc(), carried);
    else if (auto inner = dyn_cast<scf::ForOp>(op))
      r = reaches(inner.getInitArgs()[cast<OpResult>(v).getResultNumber()], carried);
    else if (isElementwise(op))
      r = llvm::any_of(op->getOperands(),
                       [&](Value operand) { return isTile(operand) && reaches(operand, carried); });
    return reached_[{v, carried}] = r;
  }

  Line intersect(const Line &x, const Line &y) {
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    return {tile::intersect(b, loc, x.ends, y.ends), intersectFlags(b, loc, x.flags, y.flags)};
  }

  /// Returns what both have.
  static Line common(const Line &x, const Line &y) {
    bool isSame = impliesFlags(x.flags, y.flags) && impliesFlags(y.flags, x.flags);
    return {sameInterval(x.ends, y.ends) ? x.ends : std::nullopt, isSame ? x.flags : Value()};
  }

  /// Returns the bounds along the axis of a tile, as far as they are the same in every iteration.
  Line of(Value v, unsigned axis) {
    Operation *op = v.getDefiningOp();
    if (isOutside(v)) {
      auto it = bounds_.find(v);
      if (it == bounds_.end()) return {};
      OpBuilder b(loop_);
      return {it->second.box[axis], flagsAlong(b, loop_.getLoc(), it->second.flags, axis)};
    }
    if (!op) return {};
    auto [it, isNew] = known_.try_emplace({v, axis});
    if (!isNew) return it->second;
    Line r = find(op, v, axis);
    return known_[{v, axis}] = r;
  }

  Line find(Operation *op, Value v, unsigned axis) {
    OpBuilder b(loop_);
    if (auto load = dyn_cast<LoadOp>(op)) {
      bool isKnown =
          !load.getInBounds() && isInvariant(load.getView(), load.getStarts(), load.getExtents(), axis);
      return isKnown ? Line{loadBox(b, load, axis)[axis]} : Line();
    }
    if (auto gather = dyn_cast<GatherOp>(op)) return ofGather(gather, axis);
    if (auto keep = dyn_cast<KeepOp>(op)) {
      OpBuilder inside(op);
      Value flags = flagsAlong(inside, op->getLoc(), keep.getFlags(), axis);
      Line ofFlags = of(keep.getFlags(), axis);
      if (flags && moveOutside(flags)) ofFlags.flags = intersectFlags(b, op->getLoc(), ofFlags.flags, flags);
      return intersect(of(keep.getInput(), axis), ofFlags);
    }
    if (auto read = dyn_cast<BufferReadOp>(op))
      return read.getStarts().empty() ? Line{ofBuffer(read.getBuffer(), read, axis)} : Line();
    if (auto mma = dyn_cast<MmaOp>(op)) {
      Value factor = axis == 0 ? mma.getA() : mma.getB();
      bool isTurned = axis == 0 ? mma.getTransA() : mma.getTransB();
      unsigned from = isTurned ? 1 - axis : axis;
      Line ofFactor = isTile(factor) ? of(factor, from) : Line{ofBuffer(factor, mma, from)};
      return intersect(ofFactor, of(mma.getAcc(), axis));
    }
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      unsigned rank = static_cast<unsigned>(tileType(v).getRank());
      return of(transpose.getInput(), axis + 2 == rank ? rank - 1 : axis + 1 == rank ? rank - 2 : axis);
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) return of(reduce.getInput(), axis + (axis >= reduce.getAxis()));
    if (auto expand = dyn_cast<ExpandDimsOp>(op))
      return axis == expand.getAxis() ? Line() : of(expand.getInput(), axis - (axis > expand.getAxis()));
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      auto from = dyn_cast<RankedTensorType>(broadcast.getInput().getType());
      bool isKept = from && from.getDimSize(axis) == tileType(v).getDimSize(axis);
      return isKept ? of(broadcast.getInput(), axis) : Line();
    }
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      unsigned n = cast<OpResult>(v).getResultNumber();
      Value next = inner.getBody()->getTerminator()->getOperand(n);
      return isProductOnto(next, inner.getRegionIterArg(n)) ? of(next, axis) : Line();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned n = cast<OpResult>(v).getResultNumber();
      return common(of(branch.thenYield().getOperand(n), axis), of(branch.elseYield().getOperand(n), axis));
    }
    auto select = dyn_cast<arith::SelectOp>(op);
    if (isa<WhereOp>(op) || (select && !isTile(select.getCondition())))
      return common(of(op->getOperand(1), axis), of(op->getOperand(2), axis));
    Line r;
    if (isElementwise(op))
      for (Value operand : op->getOperands())
        if (isTile(operand)) r = intersect(r, of(operand, axis));
    return r;
  }

  /// Tiles and scalars that index the tensor must be known before the loop; of slices only the one that is
  /// asked for.
  Line ofGather(GatherOp op, unsigned axis) {
    if (!isOutside(op.getView())) return {};
    GatherAxes axes = gatherAxes(op.getIndices(), op.getExtents());
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      bool matters = op.getExtents()[dim] < 0 || axes.ofDim[dim] == axis;
      if (matters && !moveOutside(index)) return {};
    }
    size_t last = axes.first + axes.indices.size();
    std::optional<unsigned> slice = axis < axes.first ? axis
                                    : axis >= last    ? axis - axes.indices.size()
                                                      : axes.shape.size();
    OpBuilder b(loop_);
    Bounds all = gatherBounds(
        b, op,
        [&](Value index) {
          auto it = bounds_.find(index);
          return it != bounds_.end() ? it->second : Bounds::whole(tileType(index).getRank());
        },
        slice);
    return {all.box[axis], flagsAlong(b, op.getLoc(), all.flags, axis)};
  }

  /// Only the starts that the axis depends on must be known before the loop.
  bool isInvariant(Value view, OperandRange starts, ArrayRef<int64_t> extents, unsigned axis) {
    if (!isOutside(view)) return false;
    unsigned at = 0;
    for (auto [start, extent] : llvm::zip(starts, extents)) {
      bool matters = extent >= 0 ? at == axis : axis == 0; // windowBox
      if (matters && !moveOutside(start)) return false;
      at += extent >= 0;
    }
    return true;
  }

  std::optional<Interval> ofBuffer(Value buffer, Operation *reader, unsigned axis) {
    CpAsyncOp copy = reachingCopy(buffer, reader);
    if (!copy || !isInvariant(copy.getView(), copy.getStarts(), copy.getExtents(), axis)) return std::nullopt;
    OpBuilder b(loop_);
    return copyBox(b, copy, axis)[axis];
  }

  scf::ForOp loop_;
  const DenseMap<Value, Bounds> &bounds_;
  llvm::function_ref<void(Operation *)> visit_;
  std::optional<bool> writesTensors_;
  DenseMap<std::pair<Value, unsigned>, Line> known_;
  DenseMap<Value, bool> products_;
  DenseMap<std::pair<Value, Value>, bool> reached_;
};

} // namespace

/// Elements that are out of bounds initially stay so if every iteration computes the new value elementwise
/// from the old one. Gives each such argument, and the values that correspond to it, the bounds of the
/// initial value.
void BoundsLegalizer::boundsOfCarried(ArrayRef<Carried> all) {
  SmallVector<std::pair<const Carried *, Bounds>> found;
  for (const Carried &c : all) {
    if (!isTile(c.init) || bounds(c.init).isWhole()) continue;
    // Assume the bounds for every argument that starts with them, then remove those that do not keep them.
    Bounds start = bounds(c.init);
    llvm::SmallPtrSet<Value, 8> assumed;
    SmallVector<const Carried *> candidates;
    for (const Carried &other : all)
      if (isTile(other.init) && sameBounds(bounds(other.init), start)) {
        candidates.push_back(&other);
        assumed.insert(other.names.begin(), other.names.end());
      }
    for (bool changed = true; changed;) {
      changed = false;
      llvm::erase_if(candidates, [&](const Carried *other) {
        Kept next = KeptBounds(bounds_).kept(other->next, start, assumed);
        if (next == Kept::Same || next == Kept::Within) return false;
        for (Value name : other->names)
          assumed.erase(name);
        return changed = true;
      });
    }
    if (llvm::is_contained(candidates, &c)) found.push_back({&c, start});
  }
  for (auto &[c, start] : found)
    for (Value name : c->names)
      bounds_[name] = start;
}

void BoundsLegalizer::boundsOfFor(scf::ForOp loop) {
  SmallVector<Carried> carried;
  for (auto [init, arg, next] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                                          loop.getBody()->getTerminator()->getOperands()))
    carried.push_back({init, {arg}, next});
  boundsOfCarried(carried);
  boundsOfProducts(loop);
  for (auto [arg, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if (isTile(arg)) bounds_[result] = bounds(arg);
  fillOthers(loop.getInitArgsMutable(), loop.getRegionIterArgs());
}

/// In the body of a while, an argument stands for the value that the condition passed on.
void BoundsLegalizer::boundsOfWhile(scf::WhileOp loop) {
  SmallVector<Carried> carried;
  for (auto [init, arg, next] :
       llvm::zip(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp().getOperands())) {
    carried.push_back({init, {arg}, next});
    for (auto [passed, inner] : llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments()))
      if (passed == arg) carried.back().names.push_back(inner);
  }
  boundsOfCarried(carried);
  for (auto [inner, result] : llvm::zip(loop.getAfterArguments(), loop.getResults()))
    if (isTile(inner)) bounds_[result] = bounds(inner);
  fillOthers(loop.getInitsMutable(), loop.getBeforeArguments());
}

/// A sum of products is out of bounds where each product is, whatever its initial value is.
void BoundsLegalizer::boundsOfProducts(scf::ForOp loop) {
  auto visitMoved = [&](Operation *op) { visit(op); };
  InvariantBounds invariant(loop, bounds_, visitMoved);
  for (auto [arg, next] :
       llvm::zip(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOperands())) {
    if (!isTile(arg) || !bounds(arg).isWhole()) continue;
    if (Bounds all = invariant.ofProduct(next, arg); !all.isWhole()) bounds_[arg] = all;
  }
}

/// An if yields the values of the branch that was taken, with that branch's bounds. If the branches' bounds
/// are not values known outside, the ends of the box, or the flags, become additional results.
void BoundsLegalizer::boundsOfIf(scf::IfOp branch) {
  struct Extra {
    unsigned result;
    std::optional<unsigned> axis; // none: the flags
  };
  SmallVector<Extra> extras;
  SmallVector<Value> thenValues, elseValues;
  SmallVector<std::pair<unsigned, Bounds>> outer;
  for (auto [index, result] : llvm::enumerate(branch.getResults())) {
    if (!isTile(result)) continue;
    auto n = static_cast<unsigned>(index);
    Bounds x = bounds(branch.thenYield().getOperand(n)), y = bounds(branch.elseYield().getOperand(n));
    if (x.isWhole() && y.isWhole()) continue;
    ArrayRef<int64_t> shape = tileType(result).getShape();
    Bounds known = Bounds::whole(static_cast<int64_t>(shape.size()));
    for (unsigned axis = 0; axis < shape.size(); ++axis) {
      if (sameInterval(x.box[axis], y.box[axis]) && isOutside(x.box[axis], branch)) {
        known.box[axis] = x.box[axis];
        continue;
      }
      extras.push_back({n, axis});
      appendEnds(branch.thenYield(), x.box[axis], shape[axis], thenValues);
      appendEnds(branch.elseYield(), y.box[axis], shape[axis], elseValues);
    }
    outer.push_back({n, known});
    if (!x.flags && !y.flags) continue;
    extras.push_back({n, std::nullopt});
    auto flags = [&](scf::YieldOp yield, Value given, SmallVector<Value> &values) {
      OpBuilder b(yield);
      Bounds all = Bounds::whole(static_cast<int64_t>(shape.size()));
      values.push_back(given ? given : flagsOf(b, yield.getLoc(), all, shape));
    };
    flags(branch.thenYield(), x.flags, thenValues);
    flags(branch.elseYield(), y.flags, elseValues);
  }
  unsigned next = branch.getNumResults();
  if (!extras.empty()) {
    branch.thenYield()->insertOperands(next, thenValues);
    branch.elseYield()->insertOperands(next, elseValues);
    SmallVector<Type> types(branch.getResultTypes());
    llvm::append_range(types, ValueRange(thenValues).getTypes());
    OpBuilder b(branch);
    auto wider = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
    wider.getThenRegion().takeBody(branch.getThenRegion());
    wider.getElseRegion().takeBody(branch.getElseRegion());
    wider->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
    branch->replaceAllUsesWith(wider->getResults().take_front(next));
    branch.erase();
    branch = wider;
  }
  for (auto &[n, all] : outer)
    bounds_[branch.getResult(n)] = all;
  for (const Extra &extra : extras) {
    Value result = branch.getResult(extra.result);
    Bounds &all = bounds_[result];
    if (!extra.axis) {
      all.flags = branch.getResult(next++);
      continue;
    }
    Value lo = branch.getResult(next++);
    all.box[*extra.axis] = Interval{lo, branch.getResult(next++)};
  }
}

/// An initial value whose argument has no bounds gets 0 where it was out of bounds.
void BoundsLegalizer::fillOthers(MutableOperandRange inits, ValueRange args) {
  for (auto [i, arg] : llvm::enumerate(args))
    if (isTile(arg) && bounds(arg).isWhole())
      fill(inits[i], Builder(arg.getContext()).getZeroAttr(tileType(arg).getElementType()));
}

/// A product added to `old`, whose elements outside its box keep their values (limitMma).
static bool isAddedTo(Value next, Value old) {
  if (auto select = next.getDefiningOp<arith::SelectOp>(); select && select.getFalseValue() == old)
    next = select.getTrueValue();
  auto mma = next.getDefiningOp<MmaOp>();
  return mma && mma.getAcc() == old;
}

/// An element of a variable keeps its value where the new one is out of bounds.
void BoundsLegalizer::keepOld(scf::YieldOp yield) {
  if (isa<scf::IfOp>(yield->getParentOp())) return;
  auto loop = cast<LoopLikeOpInterface>(yield->getParentOp());
  for (auto [arg, use] : llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands())) {
    if (!isTile(arg) || bounds(use.get()).isWhole() || sameBounds(bounds(use.get()), bounds(arg))) continue;
    Value old = arg;
    if (auto loopWhile = dyn_cast<scf::WhileOp>(yield->getParentOp())) {
      old = {};
      for (auto [passed, inner] :
           llvm::zip(loopWhile.getConditionOp().getArgs(), loopWhile.getAfterArguments()))
        if (passed == arg) old = inner;
    }
    if (!old) { // out of reach
      fill(use, Builder(yield.getContext()).getZeroAttr(tileType(arg).getElementType()));
      continue;
    }
    Bounds next = bounds(use.get());
    if (isAddedTo(use.get(), old)) {
      if (impliesFlags(bounds(arg).flags, next.flags)) continue;
      next.box = Bounds::whole(tileType(arg).getRank()).box;
    }
    OpBuilder b(yield);
    Location loc = yield.getLoc();
    Value flags = flagsOf(b, loc, next, tileType(arg).getShape());
    use.set(arith::SelectOp::create(b, loc, flags, use.get(), old));
  }
}

} // namespace tessera::tile
