// Branches and loops of lane programs. Where the condition is the same in all lanes, they stay what they are;
// where it is not, lanes that do not take part are masked.
#include "plugins/cpu/codegen/LaneVectors.h"

using namespace mlir;

namespace tessera::cpu {

namespace {

/// A side of a divergent branch of at most this many operations without memory is executed for all lanes,
/// instead of asking whether any lane needs it. Divisions are worth the question.
constexpr size_t kCheapOperations = 12;

bool isCheap(Block &block) {
  auto isSimple = [](Operation &op) {
    return isa_and_nonnull<arith::ArithDialect>(op.getDialect()) &&
           !isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
                arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemFOp>(op);
  };
  return block.getOperations().size() <= kCheapOperations &&
         llvm::all_of(block.without_terminator(), isSimple);
}

} // namespace

LogicalResult KernelLowering::LaneVectors::lower(scf::IfOp op) {
  const Value decision = isInterior_ ? decisions_.lookup(op) : Value();
  if (!decision && shapes_.of(op.getCondition()).kind != LaneShape::Uniform) return lowerDivergent(op);
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(
        k_.vectorOf(result.getType(), shapes_.of(result).kind == LaneShape::Varying ? width_ : 0));
  auto branch = scf::IfOp::create(b_, types, decision ? decision : k_.scalar(op.getCondition()),
                                  op.elseBlock() != nullptr);
  for (auto [from, to] : {std::pair(op.thenBlock(), &branch.getThenRegion()),
                          std::pair(op.elseBlock(), &branch.getElseRegion())}) {
    if (!from) continue;
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&to->front());
    if (failed(lower(*from))) return failure();
    if (types.empty()) continue;
    SmallVector<Value> yielded;
    for (auto [v, result] : llvm::zip_equal(from->getTerminator()->getOperands(), op.getResults()))
      yielded.push_back(inForm(v, shapes_.of(result)));
    scf::YieldOp::create(b_, yielded);
  }
  bind(op.getResults(), branch.getResults());
  return success();
}

/// Results that are the same on both sides in all lanes vary nevertheless: the lanes chose differently.
LogicalResult KernelLowering::LaneVectors::lowerDivergent(scf::IfOp op) {
  Value outer = active_, taken = vector(op.getCondition());
  Value others = arith::XOrIOp::create(b_, taken, allLanes(true));
  auto side = [&](Block *from, Value mask, SmallVectorImpl<Value> &yielded) -> LogicalResult {
    if (!from) return success();
    active_ = andMask(outer, mask);
    auto body = [&] {
      LogicalResult result = lower(*from);
      for (Value v : from->getTerminator()->getOperands())
        yielded.push_back(vector(v));
      return result;
    };
    if (isCheap(*from)) return body();
    SmallVector<Type> types;
    for (Value v : op.getResults())
      types.push_back(k_.vectorOf(v.getType(), width_));
    auto branch = scf::IfOp::create(b_, types, anyOf(active_), !types.empty());
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    if (failed(body())) return failure();
    if (types.empty()) return success();
    scf::YieldOp::create(b_, yielded);
    b_.setInsertionPointToStart(&branch.getElseRegion().front());
    SmallVector<Value> unused;
    for (Type type : types)
      unused.push_back(k_.zeroOf(type));
    scf::YieldOp::create(b_, unused);
    yielded.assign(branch.getResults().begin(), branch.getResults().end());
    return success();
  };
  SmallVector<Value> whereTaken, elsewhere;
  if (failed(side(op.thenBlock(), taken, whereTaken)) || failed(side(op.elseBlock(), others, elsewhere)))
    return failure();
  active_ = outer;
  for (auto [result, x, y] : llvm::zip(op.getResults(), whereTaken, elsewhere))
    vectors_[result] = arith::SelectOp::create(b_, taken, x, y);
  return success();
}

LogicalResult KernelLowering::LaneVectors::lower(scf::ForOp op) {
  if (!shapes_.isUniformLoop(op)) return lowerDivergent(op);
  if (const RowAccesses rows = rowAccesses(op); !rows.isEmpty()) return lowerBlocks(op, rows);
  SmallVector<Value> inits;
  for (auto [init, arg] : llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs()))
    inits.push_back(inForm(init, shapes_.of(arg)));
  LogicalResult lowered = success();
  Vec<Value> results = k_.emitLoop(op, inits, [&](Value variable, ValueRange carried) -> Vec<Value> {
    bind(op.getInductionVar(), variable);
    bind(op.getRegionIterArgs(), carried);
    lowered = lower(*op.getBody());
    Vec<Value> yielded;
    for (auto [v, arg] : llvm::zip_equal(op.getYieldedValues(), op.getRegionIterArgs()))
      yielded.push_back(succeeded(lowered) ? inForm(v, shapes_.of(arg)) : Value());
    return succeeded(lowered) ? yielded : Vec<Value>(carried);
  });
  bind(op.getResults(), results);
  return lowered;
}

/// The number of iterations of each lane, unsigned; see TileLowering::tripCount.
Value KernelLowering::LaneVectors::tripCounts(scf::ForOp op, Value lower, Value upper) {
  Type index = b_.getIndexType();
  auto number = [&](int64_t v) { return k_.splat(k_.constant(v), width_); };
  using P = arith::CmpIPredicate;
  Value runs = arith::CmpIOp::create(b_, P::slt, lower, upper);
  Value distance = arith::SubIOp::create(b_, upper, lower), counts = distance;
  if (!isConstantIntValue(op.getStep(), 1)) {
    Value step = vector(op.getStep());
    runs = arith::AndIOp::create(b_, runs, arith::CmpIOp::create(b_, P::sgt, step, number(0)));
    distance = arith::SubIOp::create(b_, distance, number(1));
    counts = arith::DivUIOp::create(b_, distance, arith::MaxSIOp::create(b_, step, number(1)));
    counts = arith::AddIOp::create(b_, counts, number(1)); // below 2^64: the distance is at most 2^64 - 2
  }
  return arith::SelectOp::create(b_, runs, counts, k_.zeroOf(k_.vectorOf(index, width_)));
}

/// Counts the iterations of each lane first. All lanes then go through the iterations of the longest loop.
LogicalResult KernelLowering::LaneVectors::lowerDivergent(scf::ForOp op) {
  Type index = b_.getIndexType(), i64 = b_.getI64Type();
  Type indices = k_.vectorOf(index, width_), wide = k_.vectorOf(i64, width_);
  Value lower = vector(op.getLowerBound()), upper = vector(op.getUpperBound());
  Value counts = tripCounts(op, lower, upper);
  if (active_) counts = arith::SelectOp::create(b_, active_, counts, k_.zeroOf(indices));
  Value most = vector::ReductionOp::create(b_, vector::CombiningKind::MAXUI,
                                           arith::IndexCastOp::create(b_, wide, counts));
  most = arith::IndexCastOp::create(b_, index, most);
  SmallVector<Value> inits;
  for (Value init : op.getInitArgs())
    inits.push_back(vector(init));
  auto loop = scf::ForOp::create(b_, k_.constant(0), most, k_.constant(1), inits, /*bodyBuilder=*/nullptr,
                                 /*unsignedCmp=*/true);
  Value outer = active_;
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value iteration = loop.getInductionVar();
    active_ = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, k_.splat(iteration, width_), counts);
    if (shapes_.of(op.getInductionVar()).kind == LaneShape::Varying) {
      Value distance = k_.splat(iteration, width_);
      if (!isConstantIntValue(op.getStep(), 1))
        distance = arith::MulIOp::create(b_, distance, vector(op.getStep()));
      vectors_[op.getInductionVar()] = arith::AddIOp::create(b_, lower, distance);
    } else {
      Value distance = b_.createOrFold<arith::MulIOp>(iteration, k_.scalar(op.getStep()));
      k_.map_.map(op.getInductionVar(),
                  b_.createOrFold<arith::AddIOp>(k_.scalar(op.getLowerBound()), distance));
    }
    bind(op.getRegionIterArgs(), loop.getRegionIterArgs());
    Value running = active_;
    if (failed(this->lower(*op.getBody()))) return failure();
    SmallVector<Value> next;
    for (auto [v, carried] : llvm::zip_equal(op.getYieldedValues(), loop.getRegionIterArgs()))
      next.push_back(arith::SelectOp::create(b_, running, vector(v), carried));
    if (loop.getNumResults()) scf::YieldOp::create(b_, next);
  }
  active_ = outer;
  bind(op.getResults(), loop.getResults());
  return success();
}

LogicalResult KernelLowering::LaneVectors::lower(scf::WhileOp op) {
  if (!shapes_.isUniformLoop(op)) return lowerDivergent(op);
  auto formed = [&](ValueRange values, ValueRange receivers) {
    SmallVector<Value> result;
    for (auto [v, receiver] : llvm::zip_equal(values, receivers))
      result.push_back(inForm(v, shapes_.of(receiver)));
    return result;
  };
  auto block = [&](Region &region, ValueRange args) {
    SmallVector<Type> types;
    for (Value arg : args)
      types.push_back(k_.vectorOf(arg.getType(), shapes_.of(arg).kind == LaneShape::Varying ? width_ : 0));
    Block *created = b_.createBlock(&region, {}, types, SmallVector<Location>(types.size(), b_.getLoc()));
    bind(args, created->getArguments());
    return types;
  };
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(
        k_.vectorOf(result.getType(), shapes_.of(result).kind == LaneShape::Varying ? width_ : 0));
  auto loop = scf::WhileOp::create(b_, types, formed(op.getInits(), op.getBeforeArguments()));
  OpBuilder::InsertionGuard guard(b_);
  block(loop.getBefore(), op.getBeforeArguments());
  if (failed(lower(*op.getBeforeBody()))) return failure();
  scf::ConditionOp condition = op.getConditionOp();
  scf::ConditionOp::create(b_, k_.scalar(condition.getCondition()),
                           formed(condition.getArgs(), op.getAfterArguments()));
  block(loop.getAfter(), op.getAfterArguments());
  if (failed(lower(*op.getAfterBody()))) return failure();
  scf::YieldOp::create(b_, formed(op.getYieldOp().getResults(), op.getBeforeArguments()));
  bind(op.getResults(), loop.getResults());
  return success();
}

/// Carries the lanes that are still in the loop, and what the lanes that have left it passed on.
LogicalResult KernelLowering::LaneVectors::lowerDivergent(scf::WhileOp op) {
  auto vectors = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return vector(v); });
  };
  Value outer = active_;
  SmallVector<Value> inits = vectors(op.getInits());
  inits.push_back(active_ ? active_ : allLanes(true));
  const size_t carried = op.getInits().size(), passed = op.getResults().size();
  SmallVector<Type> resultTypes;
  for (Value result : op.getResults()) {
    resultTypes.push_back(k_.vectorOf(result.getType(), width_));
    inits.push_back(k_.zeroOf(resultTypes.back()));
  }
  SmallVector<Type> before = llvm::map_to_vector(inits, [](Value v) { return v.getType(); });
  SmallVector<Type> after(resultTypes);
  after.push_back(inits[carried].getType());
  llvm::append_range(after, resultTypes);
  auto loop = scf::WhileOp::create(b_, after, inits);
  {
    OpBuilder::InsertionGuard guard(b_);
    auto enter = [&](Region &region, TypeRange types) {
      return b_.createBlock(&region, {}, types, SmallVector<Location>(types.size(), b_.getLoc()))
          ->getArguments();
    };
    auto in = enter(loop.getBefore(), before);
    bind(op.getBeforeArguments(), in.take_front(carried));
    active_ = in[carried];
    if (failed(lower(*op.getBeforeBody()))) return failure();
    scf::ConditionOp condition = op.getConditionOp();
    SmallVector<Value> on = vectors(condition.getArgs()), left;
    for (auto [v, old] : llvm::zip_equal(on, in.drop_front(carried + 1)))
      left.push_back(arith::SelectOp::create(b_, active_, v, old));
    on.push_back(andMask(active_, vector(condition.getCondition())));
    Value any = anyOf(on.back());
    llvm::append_range(on, left);
    scf::ConditionOp::create(b_, any, on);

    auto then = enter(loop.getAfter(), after);
    bind(op.getAfterArguments(), then.take_front(passed));
    active_ = then[passed];
    if (failed(lower(*op.getAfterBody()))) return failure();
    SmallVector<Value> next = vectors(op.getYieldOp().getResults());
    llvm::append_range(next, then.drop_front(passed));
    scf::YieldOp::create(b_, next);
  }
  active_ = outer;
  bind(op.getResults(), loop.getResults().drop_front(passed + 1));
  return success();
}

} // namespace tessera::cpu
