// Vectors of lanes that need no masks.
//
// A lane that reads its neighbours, or that a branch keeps away from a border, is inside in nearly all
// vectors. One condition of scalars, which is asked once per vector, replaces the masks of all accesses and
// the branches:
//
//   if r > 0 and c > 0:                       always = r > 0 && c > 0, never = r <= 0 || c + 7 <= 0
//     Y[r, c] = X[r-1, c-1] + X[r, c+1]       interior = never || (always && c - 1 >= 0 && c + 8 < W && ...)
//
// An interior vector takes each such branch with all its lanes or with none.
#include "plugins/cpu/codegen/LaneVectors.h"

using namespace mlir;

namespace tessera::cpu {

using P = arith::CmpIPredicate;

/// For fewer accesses and branches the condition costs what it saves.
constexpr size_t kLeastMasks = 2;

/// Can the value in lane 0 be computed at the start of a vector: from the lane's index and from what is
/// outside of the loop?
bool KernelLowering::LaneVectors::isKnownAtStart(Value v) {
  if (v == loop_.getInductionVar() || loop_.isDefinedOutsideOfLoop(v)) return true;
  Operation *op = v.getDefiningOp();
  if (!op || shapes_.of(v).kind == LaneShape::Varying) return false;
  if (quotients_.contains(op)) return true;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isKnownAtStart(operand); });
}

/// Returns the value in lane 0. Precondition: isKnownAtStart(v).
Value KernelLowering::LaneVectors::atStart(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || loop_.isDefinedOutsideOfLoop(v)) return k_.scalar(v);
  if (quotients_.contains(op)) return quotientHere(op);
  for (Value operand : op->getOperands())
    k_.map_.map(operand, atStart(operand));
  (void)k_.lowerScalarOp(op); // arithmetic, which does not fail
  return k_.scalar(v);
}

Value KernelLowering::LaneVectors::either(Value x, Value y) {
  return x && y ? b_.createOrFold<arith::OrIOp>(x, y) : x ? x : y;
}

/// In which vectors do all lanes, or none, compare so? Lanes are consecutive, so the first and the last one
/// tell for an order.
auto KernelLowering::LaneVectors::decide(arith::CmpIOp op) -> Decided {
  Value x = op.getLhs(), y = op.getRhs();
  P p = op.getPredicate();
  if (shapes_.of(x).kind == LaneShape::Uniform) {
    std::swap(x, y);
    p = p == P::slt ? P::sgt : p == P::sle ? P::sge : p == P::sgt ? P::slt : p == P::sge ? P::sle : p;
  }
  const LaneShape shape = shapes_.of(x);
  const bool isOrder = p == P::slt || p == P::sle || p == P::sgt || p == P::sge;
  if ((!isOrder && p != P::eq && p != P::ne) || shapes_.of(y).kind != LaneShape::Uniform ||
      !isKnownAtStart(x) || !isKnownAtStart(y))
    return {};
  Value first = atStart(x), bound = atStart(y);
  auto is = [&](P predicate, Value v) { return arith::CmpIOp::create(b_, predicate, v, bound).getResult(); };
  if (shape.kind == LaneShape::Uniform) return {is(p, first), is(arith::invertPredicate(p), first)};
  if (!shape.isConsecutive()) return {};
  Type type = first.getType();
  Value last = arith::AddIOp::create(b_, first, k_.constantOf(type, b_.getIntegerAttr(type, width_ - 1)));
  Value grows = arith::CmpIOp::create(b_, P::sge, last, first); // else it passes the type's largest number
  if (p == P::eq || p == P::ne) {
    Value outside = andMask(grows, either(is(P::sgt, first), is(P::slt, last)));
    return p == P::eq ? Decided{{}, outside} : Decided{outside, {}};
  }
  const bool isUpper = p == P::slt || p == P::sle;
  return {andMask(grows, is(p, isUpper ? last : first)),
          andMask(grows, is(arith::invertPredicate(p), isUpper ? first : last))};
}

auto KernelLowering::LaneVectors::decide(Value condition) -> Decided {
  Operation *op = condition.getDefiningOp();
  if (!op || loop_.isDefinedOutsideOfLoop(condition)) return {};
  if (auto number = getConstantIntValue(condition)) {
    Value yes = k_.constantOf(b_.getI1Type(), b_.getBoolAttr(*number != 0)),
          no = k_.constantOf(b_.getI1Type(), b_.getBoolAttr(*number == 0));
    return {yes, no};
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) return decide(compare);
  auto all = [&](Value x, Value y) { return x && y ? andMask(x, y) : Value(); };
  if (isa<arith::AndIOp, arith::OrIOp>(op)) {
    const Decided x = decide(op->getOperand(0)), y = decide(op->getOperand(1));
    return isa<arith::AndIOp>(op) ? Decided{all(x.always, y.always), either(x.never, y.never)}
                                  : Decided{either(x.always, y.always), all(x.never, y.never)};
  }
  auto branch = dyn_cast<scf::IfOp>(op); // `and` and `or`
  if (!branch || branch.getNumResults() != 1) return {};
  const Decided c = decide(branch.getCondition()), x = decide(branch.thenYield().getOperand(0)),
                y = decide(branch.elseYield().getOperand(0));
  return {either(all(c.always, x.always), all(c.never, y.always)),
          either(all(c.always, x.never), all(c.never, y.never))};
}

/// Returns whether the elements of all lanes are inside; null if that is not known at the start of the
/// vector.
Value KernelLowering::LaneVectors::isInside(Value tensor, ValueRange indices) {
  Value inside;
  for (auto [index, size] : llvm::zip_equal(indices, k_.views_[tensor].sizes)) {
    const LaneShape shape = shapes_.of(index);
    const bool isOne = shape.kind == LaneShape::Uniform;
    if ((!isOne && !shape.isConsecutive()) || !isKnownAtStart(index)) return {};
    Value first = atStart(index);
    if (isKnownInside({index, shape, first}, size)) continue;
    if (isOne) {
      inside = andMask(inside, arith::CmpIOp::create(b_, P::ult, first, size));
      continue;
    }
    inside = andMask(inside, arith::CmpIOp::create(b_, P::sge, first, k_.constant(0)));
    Value end = arith::SubIOp::create(b_, size, k_.constant(width_)); // not negative: the size is not
    inside = andMask(inside, arith::CmpIOp::create(b_, P::sle, first, end));
  }
  return inside;
}

/// Returns what must hold so that a vector which executes the block needs no masks; null: nothing.
Value KernelLowering::LaneVectors::interiorOf(Block &block) {
  Value needed;
  auto access = [&](auto op) {
    Value inside = op.getInBounds() ? Value() : isInside(op.getView(), op.getIndices());
    if (!inside) return;
    unmasked_.insert(op);
    needed = andMask(needed, inside);
  };
  for (Operation &op : block.without_terminator()) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      const bool isCondition = branch.getNumResults() != 0 && branch.getResult(0).getType().isInteger(1);
      if (isCondition) continue; // `and` and `or`, which decide() looks into
      Value then = interiorOf(*branch.thenBlock()),
            otherwise = branch.elseBlock() ? interiorOf(*branch.elseBlock()) : Value();
      const Decided taken = decide(branch.getCondition());
      if (taken.always && taken.never) {
        if (shapes_.of(branch.getCondition()).kind != LaneShape::Uniform) {
          decisions_[branch] = taken.always;
          needed = andMask(needed, either(taken.always, taken.never));
        }
        // A vector of the other side needs nothing of this one.
        if (then) then = either(taken.never, then);
        if (otherwise) otherwise = either(taken.always, otherwise);
      }
      for (Value side : {then, otherwise})
        if (side) needed = andMask(needed, side);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (Value body = interiorOf(*loop.getBody())) needed = andMask(needed, body);
    } else if (auto load = dyn_cast<tile::LoadElemOp>(op)) {
      access(load);
    } else if (auto store = dyn_cast<tile::StoreElemOp>(op)) {
      access(store);
    }
  }
  return needed;
}

LogicalResult KernelLowering::LaneVectors::emitWholeVector(Value first, Value offset) {
  offset_ = offset;
  active_ = {};
  k_.enterLanes(loop_, b_.createOrFold<arith::AddIOp>(first, offset));
  unmasked_.clear();
  decisions_.clear();
  Value isInterior = interiorOf(*loop_.getBody());
  if (unmasked_.size() + decisions_.size() < kLeastMasks) return emitVector(first, offset, {});
  auto choice = scf::IfOp::create(b_, TypeRange(), isInterior, true);
  OpBuilder::InsertionGuard guard(b_);
  for (bool interior : {true, false}) {
    b_.setInsertionPointToStart(&(interior ? choice.getThenRegion() : choice.getElseRegion()).front());
    isInterior_ = interior;
    if (failed(emitVector(first, offset, {}))) return failure();
  }
  return success();
}

} // namespace tessera::cpu
