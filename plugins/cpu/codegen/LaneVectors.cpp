#include "plugins/cpu/codegen/LaneVectors.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace tessera::cpu {

namespace {

/// A body of more operations is emitted once, with masks, instead of also without them for whole and for
/// interior vectors.
constexpr int64_t kLargeBody = 400;

/// Rows of fewer lanes are computed one lane after the other, with their divisions.
constexpr int64_t kShortSegment = 16;

int64_t countOperations(scf::ForOp loop) {
  int64_t operations = 0;
  loop->walk([&](Operation *) { ++operations; });
  return operations;
}

bool isDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
             arith::RemSIOp, arith::CeilDivSIOp>(op);
}

} // namespace

LogicalResult KernelLowering::lowerLanes(scf::ForOp op) {
  LaneShapes shapes(op);
  return LaneVectors(*this, op, shapes).emit();
}

KernelLowering::LaneVectors::LaneVectors(KernelLowering &lowering, scf::ForOp loop, const LaneShapes &shapes)
    : k_(lowering), b_(lowering.b_), loop_(loop), shapes_(shapes), width_(chooseWidth()) {}

/// The widest varying value fills a register. Positions that vary take two registers where others take one.
int64_t KernelLowering::LaneVectors::chooseWidth() {
  int64_t widest = 1, limit = k_.vectorBytes_;
  auto count = [&](Type type) {
    if (isa<tile::ViewType>(type) || type.isInteger(1)) return;
    if (type.isIndex() || type.isInteger(64))
      limit = k_.vectorBytes_ / 4;
    else
      widest = std::max<int64_t>(widest, tessera::storageBytes(type));
  };
  loop_.getBody()->walk([&](Operation *op) {
    for (Value v : op->getResults())
      if (shapes_.of(v).kind == LaneShape::Varying) count(v.getType());
    if (auto store = dyn_cast<tile::StoreElemOp>(op)) count(store.getValue().getType());
  });
  return std::max<int64_t>(2, std::min(k_.vectorBytes_ / widest, limit));
}

LogicalResult KernelLowering::LaneVectors::emit() {
  isVector_ = shapes_.canShareVector() && isVectorFaster();
  if (isVector_) beginGathering();
  Value lower = k_.scalar(loop_.getLowerBound()), upper = k_.scalar(loop_.getUpperBound());
  LogicalResult result = success();
  auto emitAll = [&](bool asVector) {
    Value count = b_.createOrFold<arith::SubIOp>(upper, lower);
    count = b_.createOrFold<arith::MaxSIOp>(count, k_.constant(0));
    return asVector ? emitSegment(lower, count) : emitOneByOne(lower, count);
  };
  if (shapes_.divisions().empty()) {
    result = emitAll(isVector_);
  } else {
    // Short segments would leave most of a vector empty, and cost more than the divisions.
    Value isLong;
    for (Operation *division : shapes_.divisions()) {
      Value divisor = k_.scalar(division->getOperand(1));
      Value least = k_.constantOf(divisor.getType(), b_.getIntegerAttr(divisor.getType(), kShortSegment));
      isLong = andMask(isLong, arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, divisor, least));
    }
    auto choice = scf::IfOp::create(b_, TypeRange(), isLong, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    result = emitSegments(lower, upper);
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    quotients_.clear();
    if (succeeded(result)) result = emitAll(false);
  }
  k_.laneIndex_ = k_.laneLimit_ = {};
  if (isVector_) endGathering();
  return result;
}

LogicalResult KernelLowering::LaneVectors::emitOneByOne(Value first, Value count) {
  LogicalResult result = success();
  for (auto [division, start] : quotients_)
    k_.known_.insert(division);
  k_.upTo(k_.constant(0), count, 1, [&](Value offset) {
    k_.enterLanes(loop_, b_.createOrFold<arith::AddIOp>(first, offset));
    offset_ = offset;
    for (auto [division, start] : quotients_)
      k_.map_.map(division->getResult(0), quotientHere(division));
    result = k_.lowerBlock(*loop_.getBody());
  });
  k_.known_.clear();
  return result;
}

Value KernelLowering::LaneVectors::quotientHere(Operation *division) {
  Value v = quotients_.lookup(division);
  if (!isa<arith::RemUIOp>(division)) return v;
  return b_.createOrFold<arith::AddIOp>(v, v.getType().isIndex() ? offset_ : k_.toI64(offset_));
}

LogicalResult KernelLowering::LaneVectors::emitSegments(Value lower, Value upper) {
  Type index = b_.getIndexType();
  auto segments = scf::WhileOp::create(b_, TypeRange(index), ValueRange(lower));
  OpBuilder::InsertionGuard guard(b_);
  Block *before = b_.createBlock(&segments.getBefore(), {}, index, b_.getLoc());
  Value isLeft = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, before->getArgument(0), upper);
  scf::ConditionOp::create(b_, isLeft, before->getArguments());
  Block *after = b_.createBlock(&segments.getAfter(), {}, index, b_.getLoc());
  Value first = after->getArgument(0), count = arith::SubIOp::create(b_, upper, first);
  k_.map_.map(loop_.getInductionVar(), first);
  for (Operation *op : shapes_.positions()) {
    if (failed(k_.lowerScalarOp(op))) return failure();
    if (!llvm::is_contained(shapes_.divisions(), op)) continue;
    quotients_[op] = k_.scalar(op->getResult(0));
    Value divisor = k_.scalar(op->getOperand(1));
    Value rest = arith::RemUIOp::create(b_, k_.scalar(op->getOperand(0)), divisor);
    Value left = arith::SubIOp::create(b_, divisor, rest);
    if (!left.getType().isIndex()) left = arith::IndexCastOp::create(b_, index, left);
    count = b_.createOrFold<arith::MinSIOp>(count, left);
  }
  if (failed(emitSegment(first, count))) return failure();
  scf::YieldOp::create(b_, arith::AddIOp::create(b_, first, count).getResult());
  return success();
}

LogicalResult KernelLowering::LaneVectors::emitSegment(Value first, Value count) {
  if (!isVector_) return emitOneByOne(first, count);
  const bool isLarge = countOperations(loop_) > kLargeBody;
  LogicalResult result = success();
  Value whole = isLarge ? count : k_.roundDown(count, width_);
  k_.upTo(k_.constant(0), whole, width_, [&](Value offset) {
    result = isLarge ? emitVector(first, offset, k_.rangeMask(offset, {}, count, width_))
                     : emitWholeVector(first, offset);
  });
  if (isLarge || failed(result)) return result;
  Value isCut = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, whole, count);
  auto rest = scf::IfOp::create(b_, TypeRange(), isCut, false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&rest.getThenRegion().front());
  return emitVector(first, whole, k_.rangeMask(whole, {}, count, width_));
}

LogicalResult KernelLowering::LaneVectors::emitVector(Value first, Value offset, Value mask) {
  offset_ = offset;
  active_ = mask;
  k_.enterLanes(loop_, b_.createOrFold<arith::AddIOp>(first, offset));
  return lower(*loop_.getBody());
}

LogicalResult KernelLowering::LaneVectors::lower(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b_.setLoc(op.getLoc());
    if (failed(lower(&op))) return failure();
  }
  return success();
}

LogicalResult KernelLowering::LaneVectors::lower(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<scf::ForOp, scf::IfOp, scf::WhileOp>([&](auto o) { return lower(o); })
      .Case<tile::LoadElemOp, tile::StoreElemOp>([&](auto o) { return lower(o); })
      .Case<tile::AtomicOp, tile::AtomicCasOp>([&](Operation *o) { return lowerAtomic(o); })
      .Case<tile::BarrierOp, tile::FenceOp>([&](Operation *o) { return k_.lowerOp(o); })
      .Default([&](Operation *o) { return lowerArithmetic(o); });
}

LogicalResult KernelLowering::LaneVectors::lowerArithmetic(Operation *op) {
  Value result = op->getResult(0);
  LaneShape shape = shapes_.of(result);
  if (quotients_.contains(op)) {
    k_.map_.map(result, quotientHere(op));
    return success();
  }
  if (shape.kind == LaneShape::Varying) {
    vectors_[result] = isa<tile::GroupReduceOp>(op) ? vector(op->getOperand(0)) // a group of one lane
                                                    : varyingArithmetic(op);
    return success();
  }
  // The value of lane 0 is the operation's on the values of lane 0.
  if (failed(k_.lowerScalarOp(op))) return failure();
  if (shape.kind != LaneShape::Affine || shape.step) return success();
  auto stepOf = [&](Value v) -> Value {
    LaneShape s = shapes_.of(v);
    if (s.kind == LaneShape::Affine && !s.step) return steps_[v];
    return k_.constantOf(v.getType(), b_.getIntegerAttr(v.getType(), s.step.value_or(0)));
  };
  Value x = stepOf(op->getOperand(0)), y = op->getNumOperands() > 1 ? stepOf(op->getOperand(1)) : Value();
  if (isa<arith::MulIOp>(op)) {
    bool isSecond = shapes_.of(op->getOperand(0)).kind == LaneShape::Uniform;
    steps_[result] = arith::MulIOp::create(b_, isSecond ? y : x, k_.scalar(op->getOperand(isSecond ? 0 : 1)));
  } else if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    steps_[result] =
        isa<arith::AddIOp>(op) ? b_.createOrFold<arith::AddIOp>(x, y) : b_.createOrFold<arith::SubIOp>(x, y);
  } else if (isa<arith::IndexCastOp>(op)) {
    steps_[result] = arith::IndexCastOp::create(b_, result.getType(), x);
  } else {
    steps_[result] = arith::TruncIOp::create(b_, result.getType(), x);
  }
  return success();
}

Value KernelLowering::LaneVectors::varyingArithmetic(Operation *op) {
  if (auto cast = dyn_cast<tile::CastOp>(op))
    return tile::emitCast(b_, b_.getLoc(), vector(cast.getInput()), *parseDType(cast.getFrom()),
                          *parseDType(cast.getTo()));
  if (auto rand = dyn_cast<tile::RandOp>(op))
    return k_.evaluateRand(rand, vector(rand.getSeed()), vector(rand.getOffset()), width_);
  if (isDivision(op) && shapes_.of(op->getOperand(0)).isConsecutive() &&
      shapes_.of(op->getOperand(1)).kind == LaneShape::Uniform)
    return divideConsecutive(op);
  OperationState state(b_.getLoc(), op->getName());
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const bool isChoice = i == 0 && isa<arith::SelectOp>(op); // one condition may choose between vectors
    const bool isUniform = shapes_.of(operand).kind == LaneShape::Uniform;
    Value v = isChoice && isUniform ? k_.scalar(operand) : vector(operand);
    // What guards the division may be the branch or the loop that the lane does not take part in.
    if (i == 1 && active_ && isDivision(op)) {
      Value one = k_.constantOf(v.getType(), b_.getIntegerAttr(getElementTypeOrSelf(v.getType()), 1));
      v = arith::SelectOp::create(b_, active_, v, one);
    }
    state.addOperands(v);
  }
  state.addTypes(k_.vectorOf(op->getResult(0).getType(), width_));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b_.create(state)->getResult(0);
}

/// Divides consecutive numbers by one divisor. If they are not negative and the divisor is at least the
/// number of lanes, the quotient changes at most once in the vector: one scalar division suffices.
Value KernelLowering::LaneVectors::divideConsecutive(Operation *op) {
  Value first = k_.scalar(op->getOperand(0)), divisor = k_.scalar(op->getOperand(1));
  Type type = first.getType();
  auto number = [&](int64_t v) { return k_.constantOf(type, b_.getIntegerAttr(type, v)); };
  const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  using P = arith::CmpIPredicate;
  auto is = [&](P p, Value x, Value y) { return arith::CmpIOp::create(b_, p, x, y).getResult(); };
  const int64_t most = llvm::maxIntN(width) - width_;
  Value isSimple = andMask(is(P::sge, first, number(0)), is(P::sle, first, number(most)));
  isSimple = andMask(isSimple, is(P::sge, divisor, number(width_)));
  Type result = k_.vectorOf(type, width_);
  auto choice = scf::IfOp::create(b_, result, isSimple, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&choice.getThenRegion().front());
  Value rest = arith::RemUIOp::create(b_, first, divisor);
  Value rests = arith::AddIOp::create(b_, k_.splat(rest, width_), iota(type)), v;
  Value divisors = k_.splat(divisor, width_), wraps = is(P::uge, rests, divisors);
  if (isa<arith::RemUIOp, arith::RemSIOp>(op)) {
    v = arith::SelectOp::create(b_, wraps, arith::SubIOp::create(b_, rests, divisors), rests);
  } else {
    Value quotient = arith::DivUIOp::create(b_, first, divisor);
    Value next = arith::AddIOp::create(b_, quotient, number(1));
    v = arith::SelectOp::create(b_, wraps, k_.splat(next, width_), k_.splat(quotient, width_));
  }
  scf::YieldOp::create(b_, v);
  b_.setInsertionPointToStart(&choice.getElseRegion().front());
  OperationState state(b_.getLoc(), op->getName());
  state.addOperands({vector(op->getOperand(0)), k_.splat(divisor, width_)});
  state.addTypes(result);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  scf::YieldOp::create(b_, b_.create(state)->getResult(0));
  return choice.getResult(0);
}

Value KernelLowering::LaneVectors::iota(Type element) {
  auto type = cast<VectorType>(k_.vectorOf(element, width_));
  SmallVector<Attribute> steps;
  for (int64_t i = 0; i < width_; ++i)
    steps.push_back(b_.getIntegerAttr(element, i));
  return arith::ConstantOp::create(b_, DenseElementsAttr::get(type, steps));
}

Value KernelLowering::LaneVectors::vector(Value v) {
  LaneShape shape = shapes_.of(v);
  if (shape.kind == LaneShape::Varying) return vectors_.lookup(v);
  Value base = k_.scalar(v), all = k_.splat(base, width_);
  if (shape.kind == LaneShape::Uniform) return all;
  Type element = base.getType();
  Value steps = iota(element);
  if (!shape.isConsecutive()) {
    Value step = shape.step ? k_.constantOf(element, b_.getIntegerAttr(element, *shape.step)) : steps_[v];
    steps = b_.createOrFold<arith::MulIOp>(steps, k_.splat(step, width_));
  }
  return arith::AddIOp::create(b_, all, steps);
}

Value KernelLowering::LaneVectors::inForm(Value v, LaneShape shape) {
  return shape.kind == LaneShape::Varying ? vector(v) : k_.scalar(v);
}

void KernelLowering::LaneVectors::bind(Value v, Value formed) {
  if (shapes_.of(v).kind == LaneShape::Varying)
    vectors_[v] = formed;
  else
    k_.map_.map(v, formed);
}

void KernelLowering::LaneVectors::bind(ValueRange values, ValueRange formed) {
  for (auto [v, f] : llvm::zip_equal(values, formed))
    bind(v, f);
}

Value KernelLowering::LaneVectors::allLanes(bool value) {
  return k_.splat(arith::ConstantOp::create(b_, b_.getBoolAttr(value)), width_);
}

Value KernelLowering::LaneVectors::bits(Value mask) {
  return LLVM::BitcastOp::create(b_, b_.getIntegerType(width_), mask);
}

Value KernelLowering::LaneVectors::anyOf(Value mask) {
  Value all = bits(mask);
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, all, k_.zeroOf(all.getType()));
}

Value KernelLowering::LaneVectors::allOf(Value mask) {
  Value all = bits(mask), ones = k_.constantOf(all.getType(), b_.getIntegerAttr(all.getType(), -1));
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, all, ones);
}

} // namespace tessera::cpu
