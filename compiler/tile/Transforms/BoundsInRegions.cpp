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

/// Returns Interval::lo and hi of an axis of `extent` elements, emitted before an operation.
void appendEnds(Operation *before, const std::optional<Interval> &interval, int64_t extent,
                SmallVector<Value> &out) {
  OpBuilder b(before);
  out.push_back(interval ? interval->lo : indexConstant(b, before->getLoc(), 0));
  out.push_back(interval ? interval->hi : indexConstant(b, before->getLoc(), extent));
}

} // namespace

bool isOutside(Value v, Operation *region) { return !region->isAncestor(v.getParentBlock()->getParentOp()); }

bool isOutside(const std::optional<Interval> &axis, Operation *region) {
  return !axis || (isOutside(axis->lo, region) && isOutside(axis->hi, region));
}

SmallVector<Carried> carriedBy(LoopLikeOpInterface loop) {
  SmallVector<Carried> all;
  for (auto [init, arg, next] :
       llvm::zip(loop.getInitsMutable(), loop.getRegionIterArgs(), loop.getYieldedValues()))
    all.push_back({&init, {arg}, next, {}});
  if (auto loopFor = dyn_cast<scf::ForOp>(*loop)) {
    for (auto [c, result] : llvm::zip(all, loopFor.getResults()))
      c.result = result;
  } else if (auto loopWhile = dyn_cast<scf::WhileOp>(*loop)) {
    // In the body of a while, an argument is the value that the condition passed on.
    for (auto [passed, inner, result] : llvm::zip(loopWhile.getConditionOp().getArgs(),
                                                  loopWhile.getAfterArguments(), loopWhile.getResults()))
      for (Carried &c : all)
        if (passed == c.names.front()) {
          c.names.push_back(inner);
          c.result = result;
        }
  }
  return all;
}

std::optional<Carried> carriedAs(Value result) {
  auto loop = result.getDefiningOp<LoopLikeOpInterface>();
  if (!loop) return {};
  SmallVector<Carried> all = carriedBy(loop);
  auto found = llvm::find_if(all, [&](const Carried &c) { return c.result == result; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

/// Elements that are out of bounds initially stay so if every iteration computes the new value elementwise
/// from the old one. Gives each such argument, and the values that correspond to it, the bounds of the
/// initial value.
void BoundsLegalizer::boundsOfCarried(ArrayRef<Carried> all) {
  SmallVector<std::pair<const Carried *, Bounds>> found;
  for (const Carried &c : all) {
    if (!isTile(c.next) || bounds(c.init->get()).isWhole()) continue;
    // Assume the bounds for every argument that starts with them, then remove those that do not keep them.
    Bounds start = bounds(c.init->get());
    llvm::SmallPtrSet<Value, 8> assumed;
    SmallVector<const Carried *> candidates;
    for (const Carried &other : all)
      if (isTile(other.next) && sameBounds(bounds(other.init->get()), start)) {
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

/// An initial value whose argument has no bounds gets 0 where it was out of bounds; not so a sum that the
/// loop continues, which has its start there.
void BoundsLegalizer::boundsOfLoop(LoopLikeOpInterface loop) {
  SmallVector<Carried> others,
      all = llvm::filter_to_vector(carriedBy(loop), [](const Carried &c) { return isTile(c.next); });
  for (const Carried &c : all)
    if (!continueSum(loop, c)) others.push_back(c);
  boundsOfCarried(others);
  for (const Carried &c : others)
    boundsOfProducts(loop, c);
  for (const Carried &c : all)
    if (c.result) bounds_[c.result] = bounds(c.names.back());
  for (const Carried &c : others)
    if (bounds(c.names.front()).isWhole())
      fill(*c.init, Builder(loop.getContext()).getZeroAttr(tileType(c.next).getElementType()));
}

/// An if yields the values of the branch that was taken, with that branch's bounds. If the branches' bounds
/// are not values known outside, the ends of the box, or the flags, become additional results.
void BoundsLegalizer::boundsOfIf(scf::IfOp branch) {
  struct Extra {
    unsigned result;
    std::optional<unsigned> axis; // none: the flags of all elements
    bool isFlags = false;
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
    auto append = [&](scf::YieldOp yield, Value flags, ArrayRef<int64_t> ofShape, SmallVector<Value> &to) {
      OpBuilder b(yield);
      Bounds all = Bounds::whole(static_cast<int64_t>(ofShape.size()));
      to.push_back(flags ? flags : flagsOf(b, yield.getLoc(), all, ofShape));
    };
    // Flags of whole lines stay those of lines.
    OpBuilder inThen(branch.thenYield()), inElse(branch.elseYield());
    Location loc = branch.getLoc();
    for (unsigned axis = 0; axis < shape.size(); ++axis) {
      Value ofX = flagsAlong(inThen, loc, x.flags, axis), ofY = flagsAlong(inElse, loc, y.flags, axis);
      if (!ofX && !ofY) continue;
      extras.push_back({n, axis, true});
      append(branch.thenYield(), ofX, shape[axis], thenValues);
      append(branch.elseYield(), ofY, shape[axis], elseValues);
    }
    if ((!x.flags || areOfHyperplanes(inThen, loc, x.flags)) &&
        (!y.flags || areOfHyperplanes(inElse, loc, y.flags)))
      continue;
    extras.push_back({n, std::nullopt, true});
    append(branch.thenYield(), x.flags, shape, thenValues);
    append(branch.elseYield(), y.flags, shape, elseValues);
  }
  llvm::DenseMap<unsigned, Sum> sums = sumsOfIf(branch);
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
  OpBuilder b(branch->getContext());
  b.setInsertionPointAfter(branch);
  Location loc = branch.getLoc();
  for (const Extra &extra : extras) {
    Value result = branch.getResult(extra.result);
    Bounds &all = bounds_[result];
    if (extra.isFlags) {
      Value flags = branch.getResult(next++);
      if (extra.axis) flags = spreadFlags(b, loc, flags, *extra.axis, tileType(result).getShape());
      all.flags = intersectFlags(b, loc, all.flags, flags);
      continue;
    }
    Value lo = branch.getResult(next++);
    all.box[*extra.axis] = Interval{lo, branch.getResult(next++)};
  }
  for (auto &[n, sum] : sums)
    sums_[branch.getResult(n)] = sum;
}

/// A product, or several, added to `old`: elements outside the box of a product keep their values.
static bool isAddedTo(Value next, Value old) {
  bool hasProduct = false;
  while (next != old) {
    if (auto select = next.getDefiningOp<arith::SelectOp>()) { // legalizeMma, restored
      auto limited = select.getTrueValue().getDefiningOp<MmaOp>();
      if (select.getFalseValue() != old && !(limited && select.getFalseValue() == limited.getAcc()))
        return false;
      next = select.getTrueValue();
      continue;
    }
    auto mma = next.getDefiningOp<MmaOp>();
    if (!mma) return false;
    next = mma.getAcc();
    hasProduct = true;
  }
  return hasProduct;
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
