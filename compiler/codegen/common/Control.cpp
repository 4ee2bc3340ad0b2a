// Loops and branches. Scalars and tiles in registers stay SSA values. Another tile that a region carries or
// yields has one place in scratch.
#include "compiler/codegen/common/TileLowering.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>

using namespace mlir;

namespace tessera::target {

namespace {
SmallVector<Value> scalarsOf(ValueRange values) {
  return llvm::filter_to_vector(values, [](Value v) { return !tile::isTile(v); });
}
} // namespace

SmallVector<Value> TileLowering::mappedScalars(ValueRange values) {
  Vec<Value> mapped;
  for (Value v : values)
    if (tile::isInRegisters(v))
      llvm::append_range(mapped, registers_.lookup(v));
    else if (!tile::isTile(v))
      mapped.push_back(scalar(v));
  return mapped;
}

/// min(end of the program, number of lanes). The number of lanes is known to be at least any lane's index.
void TileLowering::enterLanes(scf::ForOp op, Value lane) {
  map_.map(op.getInductionVar(), lane);
  laneIndex_ = lane;
  if (auto limit = op.getUpperBound().getDefiningOp<arith::MinSIOp>())
    for (Value end : limit->getOperands())
      if (isa<BlockArgument>(end)) laneLimit_ = scalar(end);
}

/// Binds `from` to the new block's arguments (scalars and registers, in order) and to `places` (tiles).
void TileLowering::bindArguments(ValueRange from, ValueRange scalars, ArrayRef<Place> places) {
  size_t next = 0;
  for (auto [v, p] : llvm::zip(from, places))
    if (tile::isInRegisters(v)) {
      const size_t count = registerTypes(tile::tileType(v)).size();
      registers_[v] = Vec<Value>(scalars.slice(next, count));
      next += count;
    } else if (tile::isTile(v))
      carried_[v] = p;
    else
      map_.map(v, scalars[next++]);
}

/// Values that are computed on the fly are evaluated first: they may read variables that the copies then
/// replace. (tile-fuse ensures that they read no variable that another of them replaces.)
void TileLowering::assignYields(Operation *terminator, ValueRange values, ArrayRef<Place> places) {
  for (bool copies : {false, true})
    for (auto [v, p] : llvm::zip(values, places))
      if (tile::isTile(v) && !tile::isInRegisters(v) && tile::inMemory(v) == copies) assign(v, p, terminator);
}

/// The variable cannot pass the largest index before it reaches the end.
static bool staysInRange(scf::ForOp op) {
  // Only a launch of 2^62 programs could.
  if (op.getStep().getDefiningOp<tile::BlockProgramsOp>()) return true;
  std::optional<int64_t> step = getConstantIntValue(op.getStep());
  if (!step || *step <= 0) return false;
  auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - (*step - 1));
  std::optional<uint64_t> end = tile::largestIndex(op.getUpperBound());
  if (*step == 1 || (end && *end <= most)) return true;
  // Otherwise only a loop of 2^46 iterations or more could.
  std::optional<uint64_t> begin = tile::largestIndex(op.getLowerBound());
  return begin && *begin <= most / 2 && *step <= 1 << 16;
}

/// Returns the number of iterations, unsigned, of a loop whose variable may pass the largest index. A step
/// that is not positive gives none.
Value TileLowering::tripCount(Value lower, Value upper, Value step) {
  Value zero = constant(0), one = constant(1);
  Value runs = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, lower, upper);
  Value forward = arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, step, zero);
  runs = arith::AndIOp::create(b_, runs, forward);
  Value distance = arith::SubIOp::create(b_, arith::SubIOp::create(b_, upper, lower), one);
  Value count = arith::DivUIOp::create(b_, distance, b_.createOrFold<arith::MaxSIOp>(step, one));
  count = arith::AddIOp::create(b_, count, one); // below 2^64: the distance is at most 2^64 - 2
  return arith::SelectOp::create(b_, runs, count, zero);
}

auto TileLowering::emitLoop(scf::ForOp op, ValueRange inits,
                            llvm::function_ref<Vec<Value>(Value, ValueRange)> body) -> Vec<Value> {
  Value lower = scalar(op.getLowerBound()), upper = scalar(op.getUpperBound()), step = scalar(op.getStep());
  bool counted = !staysInRange(op);
  auto loop = counted ? scf::ForOp::create(b_, constant(0), tripCount(lower, upper, step), constant(1), inits,
                                           /*bodyBuilder=*/nullptr, /*unsignedCmp=*/true)
                      : scf::ForOp::create(b_, lower, upper, step, inits);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Value variable = loop.getInductionVar();
  if (counted) variable = arith::AddIOp::create(b_, lower, arith::MulIOp::create(b_, variable, step));
  Vec<Value> next = body(variable, loop.getRegionIterArgs());
  if (loop.getNumResults()) // without results, the builder has created the yield
    scf::YieldOp::create(b_, next);
  return Vec<Value>(loop.getResults());
}

LogicalResult TileLowering::lowerFor(scf::ForOp op) {
  if (op->hasAttr(tile::kLanes)) return lowerLanes(op);
  Vec<Place> places = placesOf(op, op.getInitArgs());
  for (auto [init, p] : llvm::zip(op.getInitArgs(), places))
    if (tile::isTile(init) && !tile::isInRegisters(init)) assign(init, p, op);
  LogicalResult lowered = success();
  Vec<Value> results =
      emitLoop(op, mappedScalars(op.getInitArgs()), [&](Value variable, ValueRange carried) -> Vec<Value> {
        map_.map(op.getInductionVar(), variable);
        bindArguments(op.getRegionIterArgs(), carried, places);
        lowered = lowerBlock(*op.getBody());
        if (failed(lowered)) return Vec<Value>(carried);
        Operation *terminator = op.getBody()->getTerminator();
        assignYields(terminator, terminator->getOperands(), places);
        return mappedScalars(terminator->getOperands());
      });
  bindArguments(op.getResults(), results, places);
  return lowered;
}

LogicalResult TileLowering::lowerIf(scf::IfOp op) {
  Vec<Place> places = placesOf(op, op.getResults());
  Vec<Type> types;
  for (Value v : op.getResults())
    if (tile::isInRegisters(v))
      llvm::append_range(types, registerTypes(tile::tileType(v)));
    else if (!tile::isTile(v))
      types.push_back(registerElement(v.getType()));
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(b_, types, scalar(op.getCondition()), hasElse);
  for (auto [from, to] : {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
                          std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty()) continue;
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&to->front());
    if (failed(lowerBlock(from->front()))) return failure();
    Operation *terminator = from->front().getTerminator();
    ValueRange yielded = terminator->getOperands();
    assignYields(terminator, yielded, places);
    if (!types.empty()) scf::YieldOp::create(b_, mappedScalars(yielded));
  }
  bindArguments(op.getResults(), branch.getResults(), places);
  return success();
}

/// The operands of the condition and the values it passes on are independent in number and place.
LogicalResult TileLowering::lowerWhile(scf::WhileOp op) {
  if (llvm::any_of(op.getOperands(), tile::isInRegisters) ||
      llvm::any_of(op.getResults(), tile::isInRegisters))
    return notImplemented(op);
  SmallVector<Value> tiles(op.getBeforeArguments());
  llvm::append_range(tiles, op.getResults());
  Vec<Place> all = placesOf(op, tiles);
  ArrayRef<Place> before = ArrayRef(all).take_front(op.getInits().size()),
                  after = ArrayRef(all).drop_front(op.getInits().size());
  assignYields(op, op.getInits(), before);
  auto typesOf = [](ValueRange values) {
    return llvm::map_to_vector(scalarsOf(values), [](Value v) { return registerElement(v.getType()); });
  };
  Vec<Type> inTypes = typesOf(op.getInits()), outTypes = typesOf(op.getResults());
  auto loop = scf::WhileOp::create(b_, outTypes, mappedScalars(op.getInits()));
  OpBuilder::InsertionGuard guard(b_);

  Block *first = b_.createBlock(&loop.getBefore(), {}, inTypes, Vec<Location>(inTypes.size(), b_.getLoc()));
  bindArguments(op.getBeforeArguments(), first->getArguments(), before);
  if (failed(lowerBlock(*op.getBeforeBody()))) return failure();
  auto condition = op.getConditionOp();
  assignYields(condition, condition.getArgs(), after);
  Value goesOn = scalar(condition.getCondition());
  if (laneActive_) goesOn = arith::AndIOp::create(b_, goesOn, laneActive_);
  scf::ConditionOp::create(b_, goesOn, mappedScalars(condition.getArgs()));

  Block *second = b_.createBlock(&loop.getAfter(), {}, outTypes, Vec<Location>(outTypes.size(), b_.getLoc()));
  bindArguments(op.getAfterArguments(), second->getArguments(), after);
  if (failed(lowerBlock(*op.getAfterBody()))) return failure();
  Operation *terminator = op.getAfterBody()->getTerminator();
  ValueRange yielded = terminator->getOperands();
  assignYields(terminator, yielded, before);
  scf::YieldOp::create(b_, mappedScalars(yielded));
  bindArguments(op.getResults(), loop.getResults(), after);
  return success();
}

} // namespace tessera::target
