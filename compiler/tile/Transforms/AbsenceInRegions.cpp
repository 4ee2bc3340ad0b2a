// What loops and branches carry: it has a box if that box is known before the region begins and every value
// that the variable may have respects it.
#include "compiler/tile/Transforms/AbsentElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// A value's box beside a given one: it has none, the same, a part of it, or any other.
enum class Kept { Whole, Same, Within, Other };

/// Of an elementwise op on two values: the intersection.
Kept intersect(Kept x, Kept y) {
  if (x == Kept::Whole || x == y) return y;
  if (y == Kept::Whole) return x;
  return Kept::Within; // unequal, and one of them lies in the box
}

/// Compares boxes of values that have one with a given box.
class KeptBoxes {
public:
  explicit KeptBoxes(const DenseMap<Value, Box> &boxes) : boxes_(boxes) {}

  /// How the box of `v` relates to `outer`, given that the values in `assumed` have that box.
  Kept kept(Value v, const Box &outer, const llvm::SmallPtrSetImpl<Value> &assumed) {
    DenseMap<Value, Kept> known; // each value once, however many users it has
    return kept(v, outer, assumed, known);
  }

private:
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

  const DenseMap<Value, Box> &boxes_;
};

bool isOutside(const Box &box, Operation *region) {
  return llvm::all_of(box, [&](std::optional<Interval> axis) {
    return !axis || (!region->isAncestor(axis->lo.getParentBlock()->getParentOp()) &&
                     !region->isAncestor(axis->hi.getParentBlock()->getParentOp()));
  });
}

void ends(Operation *before, const std::optional<Interval> &interval, int64_t extent,
          SmallVector<Value> &out) {
  OpBuilder b(before);
  out.push_back(interval ? interval->lo : indexConstant(b, before->getLoc(), 0));
  out.push_back(interval ? interval->hi : indexConstant(b, before->getLoc(), extent));
}

} // namespace

/// Elements absent at the start stay absent when every step computes the new value from the old one
/// (elementwise): gives each such argument and its names the box of the initial value.
void AbsentElements::boxesOfCarried(ArrayRef<Carried> all) {
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
        Kept next = KeptBoxes(boxes_).kept(other->next, start, assumed);
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
      boxes_[name] = start;
}

void AbsentElements::boxesOfFor(scf::ForOp loop) {
  SmallVector<Carried> carried;
  for (auto [init, arg, next] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                                          loop.getBody()->getTerminator()->getOperands()))
    carried.push_back({init, {arg}, next});
  boxesOfCarried(carried);
  for (auto [arg, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if (isTile(arg)) boxes_[result] = box(arg);
  fillOthers(loop.getInitArgsMutable(), loop.getRegionIterArgs());
}

/// In the body of a while, what the argument is replaced by what the condition passed on.
void AbsentElements::boxesOfWhile(scf::WhileOp loop) {
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
void AbsentElements::boxesOfIf(scf::IfOp branch) {
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
    types.append(thenEnds.size(), IndexType::get(branch.getContext()));
    OpBuilder b(branch);
    auto wider = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
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

/// Initial values whose argument is whole hold 0 where they were absent.
void AbsentElements::fillOthers(MutableOperandRange inits, ValueRange args) {
  for (auto [i, arg] : llvm::enumerate(args))
    if (isTile(arg) && isWhole(box(arg)))
      fill(inits[i], Builder(arg.getContext()).getZeroAttr(tileType(arg).getElementType()));
}

void AbsentElements::keepAbsent(scf::YieldOp yield) {
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
      fill(use, Builder(yield.getContext()).getZeroAttr(tileType(arg).getElementType()));
      continue;
    }
    OpBuilder b(yield);
    Location loc = yield.getLoc();
    Value present = presence(b, loc, box(use.get()), tileType(arg));
    use.set(arith::SelectOp::create(b, loc, present, use.get(), old));
  }
}

} // namespace tessera::tile
