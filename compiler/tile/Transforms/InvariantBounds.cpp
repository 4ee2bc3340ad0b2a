#include "compiler/tile/Transforms/InvariantBounds.h"
#include "compiler/tile/IR/TileAccess.h"

using namespace mlir;

namespace tessera::tile {
namespace {

bool readsTensor(Operation *op) {
  return isa<LoadOp, LoadElemOp, GatherOp>(op) && isa<ViewType>(op->getOperand(0).getType());
}

} // namespace

InvariantBounds::~InvariantBounds() {
  for (Operation *op : llvm::reverse(listener_.created))
    if (loop_->isAncestor(op) && op->use_empty()) op->erase();
}

std::optional<Lines> InvariantBounds::ofSum(const Carried &c) {
  std::optional<Sum> sum = tileType(c.next).getRank() == 2 ? sumOf(c.next) : std::nullopt;
  return sum && llvm::is_contained(c.names, sum->start) ? std::optional(sum->products) : std::nullopt;
}

std::optional<Lines> InvariantBounds::ofScaledSum(const Carried &c) {
  if (tileType(c.next).getRank() != 2 || !isProductOnto(c.next, c.names)) return {};
  OpBuilder b = builder();
  b.setInsertionPointAfterValue(c.next);
  return moved(b, linesOf(b, loop_->getLoc(), of(c.next)));
}

OpBuilder InvariantBounds::builder() { return OpBuilder(loop_->getContext(), &listener_); }

/// Returns the bounds of a tile, as far as they are the same in every iteration. They can be moved before the
/// loop.
Bounds InvariantBounds::of(Value v) {
  Bounds whole = Bounds::whole(tileType(v).getRank());
  if (isOutside(v, loop_)) {
    auto it = bounds_.find(v);
    return it != bounds_.end() ? it->second : whole;
  }
  auto [it, isNew] = known_.try_emplace(v, whole);
  if (!isNew) return it->second;
  Operation *op = v.getDefiningOp();
  Bounds r = op ? find(op, v) : whole;
  return known_[v] = r;
}

Bounds InvariantBounds::find(Operation *op, Value v) {
  OpBuilder b = builder();
  b.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  auto ofOperand = [&](Value operand) { return of(operand); };
  if (auto branch = dyn_cast<scf::IfOp>(op)) return ofIf(branch, cast<OpResult>(v).getResultNumber());
  if (std::optional<Sum> sum = sumOf(v))
    return movable(
        b, intersect(b, loc, boundsOf(b, loc, sum->products, tileType(v).getShape()), of(sum->start)));
  if (std::optional<Carried> c = carriedAs(v)) {
    bool isScaled = tileType(v).getRank() == 2 && isProductOnto(c->next, c->names);
    if (!isScaled) return Bounds::whole(tileType(v).getRank());
    OpBuilder inside = builder();
    inside.setInsertionPointAfterValue(c->next);
    return moved(inside, of(c->next));
  }
  if (op->getNumRegions()) return Bounds::whole(tileType(v).getRank());
  Bounds r = movable(b, boundsOfResult(b, op, ofOperand));
  // Whatever is chosen is masked where both are.
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!isa<WhereOp>(op) && !(select && !isTile(select.getCondition()))) return r;
  b.setInsertionPointAfter(op);
  return movable(b, intersect(b, loc, r, common(b, of(op->getOperand(1)), of(op->getOperand(2)))));
}

Bounds InvariantBounds::ofIf(scf::IfOp branch, unsigned n) {
  auto ofYield = [&](scf::YieldOp yield) {
    OpBuilder inside = builder();
    inside.setInsertionPoint(yield);
    return moved(inside, of(yield.getOperand(n)));
  };
  Bounds x = ofYield(branch.thenYield()), y = ofYield(branch.elseYield());
  OpBuilder b = builder();
  b.setInsertionPointAfter(branch);
  Bounds both = common(b, x, y);
  if (!isMovable(branch.getCondition())) return both;
  Bounds r = boundsOfChoice(b, branch.getLoc(), branch.getCondition(), x, y,
                            tileType(branch.getResult(n)).getShape());
  return movable(b, intersect(b, branch.getLoc(), r, both));
}

/// Follows products that are added to one value, through loops and branches.
std::optional<Sum> InvariantBounds::sumOf(Value v) {
  if (isOutside(v, loop_)) return {};
  if (auto it = sums_.find(v); it != sums_.end()) return it->second;
  std::optional<Sum> sum = lastOfSum(v);
  if (sum)
    if (std::optional<Sum> before = sumOf(sum->start)) {
      OpBuilder b = builder();
      b.setInsertionPoint(loop_);
      sum = Sum{before->start, commonLines(b, loop_->getLoc(), sum->products, before->products)};
    }
  return sums_[v] = sum;
}

/// Returns the last product, or those of the last loop or branch, and what they are added to.
std::optional<Sum> InvariantBounds::lastOfSum(Value v) {
  if (auto mma = v.getDefiningOp<MmaOp>()) return Sum{mma.getAcc(), linesOfProduct(mma)};
  if (std::optional<Carried> c = carriedAs(v)) {
    std::optional<Sum> sum = sumOf(c->next);
    if (!sum || !llvm::is_contained(c->names, sum->start)) return {};
    return Sum{c->init->get(), sum->products};
  }
  auto branch = v.getDefiningOp<scf::IfOp>();
  if (!branch) return {};
  unsigned n = cast<OpResult>(v).getResultNumber();
  Value ofThen = branch.thenYield().getOperand(n), ofElse = branch.elseYield().getOperand(n);
  std::optional<Sum> x = sumOf(ofThen), y = sumOf(ofElse);
  Value start = x ? x->start : ofThen;
  if ((!x && !y) || start != (y ? y->start : ofElse)) return {};
  if (!x || !y) return Sum{start, (x ? x : y)->products};
  OpBuilder b = builder();
  b.setInsertionPoint(loop_);
  return Sum{start, commonLines(b, loop_->getLoc(), x->products, y->products)};
}

Lines InvariantBounds::linesOfProduct(MmaOp mma) {
  OpBuilder b = builder();
  b.setInsertionPoint(mma);
  Bounds product = mma.boundsOfProduct(
      b, [&](Value factor) { return isTile(factor) ? of(factor) : Bounds{copiedBox(b, factor, mma)}; });
  return moved(b, linesOf(b, mma.getLoc(), product));
}

/// Follows elementwise operations from a product whose accumulator is the carried value, itself possibly
/// changed elementwise. Operations inside an if are not followed, because the if may skip them.
bool InvariantBounds::isProductOnto(Value v, ArrayRef<Value> names) {
  bool hasProduct = false;
  DenseMap<Value, bool> known;
  while (Operation *op = v.getDefiningOp()) {
    if (isOutside(v, loop_)) return false;
    if (auto mma = dyn_cast<MmaOp>(op)) {
      hasProduct = true;
      v = mma.getAcc();
    } else if (std::optional<Carried> inner = carriedAs(v)) {
      if (!isProductOnto(inner->next, inner->names)) return false;
      hasProduct = true;
      v = inner->init->get();
    } else if (isElementwise(op)) {
      // Continue with the one operand that depends on the carried value.
      auto reached = llvm::make_filter_range(op->getOperands(), [&](Value operand) {
        return isTile(operand) && reaches(operand, names, known);
      });
      if (!llvm::hasSingleElement(reached)) return false;
      v = *reached.begin();
      for (Value operand : op->getOperands())
        hasProduct |= operand != v && isTile(operand) && isProduct(operand);
    } else {
      return false;
    }
  }
  return hasProduct && llvm::is_contained(names, v);
}

/// Finds a product in the loop's body, possibly changed elementwise.
bool InvariantBounds::isProduct(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || isOutside(v, loop_)) return false;
  if (auto it = products_.find(v); it != products_.end()) return it->second;
  bool r = isa<MmaOp>(op) || (isElementwise(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                                return isTile(operand) && isProduct(operand);
                              }));
  return products_[v] = r;
}

bool InvariantBounds::reaches(Value v, ArrayRef<Value> names, DenseMap<Value, bool> &known) {
  if (llvm::is_contained(names, v)) return true;
  Operation *op = v.getDefiningOp();
  if (!op || isOutside(v, loop_)) return false;
  if (auto it = known.find(v); it != known.end()) return it->second;
  bool r = false;
  if (auto mma = dyn_cast<MmaOp>(op))
    r = reaches(mma.getAcc(), names, known);
  else if (std::optional<Carried> inner = carriedAs(v))
    r = reaches(inner->init->get(), names, known);
  else if (isElementwise(op))
    r = llvm::any_of(op->getOperands(),
                     [&](Value operand) { return isTile(operand) && reaches(operand, names, known); });
  return known[v] = r;
}

/// Returns what both have.
Bounds InvariantBounds::common(OpBuilder &b, const Bounds &x, const Bounds &y) {
  Bounds r = Bounds::whole(static_cast<int64_t>(x.box.size()));
  for (auto [axis, ofX, ofY] : llvm::zip(r.box, x.box, y.box))
    if (sameInterval(ofX, ofY)) axis = ofX;
  r.flags = commonFlags(b, loop_->getLoc(), x.flags, y.flags);
  return r;
}

/// Can the value be known before the loop? Arithmetic can be moved there, and so can reads of tiles and
/// scalars if the loop writes no tensor.
bool InvariantBounds::isMovable(Value v) {
  if (isOutside(v, loop_)) return true;
  Operation *op = v.getDefiningOp();
  if (!op || op->getNumRegions() || !(isPure(op) || (readsTensor(op) && !writesTensors()))) return false;
  if (auto it = movable_.find(v); it != movable_.end()) return it->second;
  bool r = llvm::all_of(op->getOperands(), [&](Value operand) { return isMovable(operand); });
  return movable_[v] = r;
}

/// Of flags that are combined by `and` those that can be moved.
Value InvariantBounds::movableFlags(OpBuilder &b, Value flags) {
  if (!flags || isMovable(flags)) return flags;
  auto both = flags.getDefiningOp<arith::AndIOp>();
  if (!both) return {};
  return intersectFlags(b, loop_->getLoc(), movableFlags(b, both.getLhs()), movableFlags(b, both.getRhs()));
}

Bounds InvariantBounds::movable(OpBuilder &b, Bounds r) {
  for (std::optional<Interval> &axis : r.box)
    if (axis && !isMovable(*axis)) axis = {};
  r.flags = movableFlags(b, r.flags);
  return r;
}

/// Returns the value that is in the place of the one that was moved.
Value InvariantBounds::move(Value v) {
  if (isOutside(v, loop_)) return v;
  Operation *op = v.getDefiningOp();
  for (OpOperand &operand : op->getOpOperands())
    move(operand.get());
  op->moveBefore(loop_);
  if (!isTile(v)) return v;
  Value r = visit_(v);
  if (r != v) { // `v` is erased
    known_.clear();
    movable_.erase(v);
  }
  return r;
}

Bounds InvariantBounds::moved(OpBuilder &b, Bounds r) {
  r = movable(b, r);
  for (std::optional<Interval> &axis : r.box)
    if (axis) axis = Interval{move(axis->lo), move(axis->hi)};
  if (r.flags) r.flags = move(r.flags);
  return r;
}

Lines InvariantBounds::moved(OpBuilder &b, Lines lines) {
  for (Line &line : lines) {
    Bounds r = moved(b, {{line.ends}, line.flags});
    line = {r.box[0], r.flags};
  }
  return lines;
}

bool InvariantBounds::writesTensors() {
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

} // namespace tessera::tile
