// Reductions of a group: one pass over the reduced axis for each reduction that needs another's result, then
// one pass that stores. Each pass recomputes what it needs from the inputs; the program keeps nothing of the
// axis' length. If an elementwise function is expensive (softmax's exp), the last reductions store its values
// to the result, and the storing pass reads them back instead of recomputing them.
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/schedule/Transforms/TreeJoin.h"
#include "numerics/NumericsProfile.h"
#include "llvm/Support/SaveAndRestore.h"
#include <limits>
#include <map>

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;
using graph::ReduceKind;
using graph::ReduceOp;

/// How a tile is reduced.
static tile::ReduceKind inTile(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Prod:
    return tile::ReduceKind::Prod;
  case ReduceKind::Max:
    return tile::ReduceKind::Max;
  case ReduceKind::Min:
    return tile::ReduceKind::Min;
  default:
    return tile::ReduceKind::Sum;
  }
}

TypedValue GroupProgram::neutral(ReduceKind kind, DType dtype, const Shape &shape) {
  if (kind == ReduceKind::Sum || kind == ReduceKind::Mean) return b_.full(0, dtype, shape);
  if (kind == ReduceKind::Prod) return b_.full(1, dtype, shape);
  bool lowest = isLargest(kind);
  if (isFloat(dtype)) {
    double bound = info(dtype).hasInf ? std::numeric_limits<double>::infinity()
                                      : std::ldexp(2.0 - std::ldexp(1.0, -info(dtype).mantissaBits),
                                                   info(dtype).maxExponent);
    return b_.full(lowest ? -bound : bound, dtype, shape);
  }
  int bits = info(dtype).bits;
  bool isSigned = isInt(dtype) && !isUnsigned(dtype);
  int64_t least = isSigned ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  int64_t most = isSigned ? std::numeric_limits<int64_t>::max() >> (64 - bits)
                          : static_cast<int64_t>(~uint64_t{0} >> (64 - bits));
  return b_.broadcast(b_.integer(lowest ? least : most, dtype), shape);
}

/// Does the tile pipeline mask elements past the end of the reduced axis? It does if a tensor that ends there
/// is read, or a cast of it. Positions and constants have no end, and what is read at other positions ends
/// elsewhere; a choice and integer arithmetic may fold to an operand that has none (select %c, %x, %x).
bool GroupProgram::isAbsentPastEdge(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa<graph::SelectOp, graph::SliceOp, graph::PadOp, graph::GatherOp>(op) ||
      !(isFloat(dtypeOf(v.getType())) || isa<graph::CastOp>(op)))
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<Tensor>(operand.get().getType())) continue;
    if (space_.holds(operand.get()) ? space_.varies(operand.get()) && isAbsentPastEdge(operand.get())
                                    : llvm::is_contained(space_.axesOf(operand), *space_.reducedAxis()))
      return true;
  }
  return false;
}

/// Returns the reduction's operand with its neutral element past the end of the axis.
TypedValue GroupProgram::masked(OpOperand &input, ReduceKind kind) {
  int64_t axis = *space_.reducedAxis();
  Shape shape(tileRank(), 1);
  shape.back() = tileExtent(columns_);
  if (tileRank() == 2) shape.front() = tileExtent(rows_);
  TypedValue x = b_.broadcast(value(input), shape);
  if (!space_.holds(input.get()) || isAbsentPastEdge(input.get())) return x;
  TypedValue place = b_.arange(start(axis), tileExtent(axis));
  TypedValue end = b_.cast(extent(space_.space().getDims()[axis]), DType::I32);
  TypedValue inside = b_.binary(BinaryKind::Lt, place, b_.broadcast(end, {tileExtent(axis)}));
  if (tileRank() == 2) inside = b_.expandDims(inside, axis == rows_ ? 1 : 0);
  inside = b_.broadcast(inside, shape);
  return b_.select(inside, x, neutral(kind, x.dtype, shape));
}

/// Returns whether any element of a bool tile holds.
TypedValue GroupProgram::anyOf(const TypedValue &x) {
  TypedValue each = b_.cast(x, DType::I32);
  int64_t count = 1;
  for (int64_t extent : each.shape())
    count *= extent;
  TypedValue largest = b_.reduce(tile::ReduceKind::Max, b_.reshape(each, {count}), 0);
  return b_.binary(BinaryKind::Ne, largest, b_.integer(0, DType::I32));
}

/// Emits a loop along the reduced axis in tiles. `body` runs for each tile; values that do not vary within
/// the loop are computed before it.
GroupBuilder::Values
GroupProgram::walk(const GroupBuilder::Values &inits,
                   llvm::function_ref<GroupBuilder::Values(const GroupBuilder::Values &)> body,
                   std::optional<TypedValue> isElsewhere) {
  int64_t axis = *space_.reducedAxis();
  if (fitsTile_) { // the passes share what they compute of the one tile
    fixed_ = varying_ = builder_.saveInsertionPoint();
    GroupBuilder::Values results = body(inits);
    fixed_ = varying_ = builder_.saveInsertionPoint();
    varyingValues_.clear();
    return results;
  }
  TypedValue end = extent(space_.space().getDims()[axis]);
  if (isElsewhere) end = b_.select(*isElsewhere, b_.integer(0), end);
  std::optional<TypedValue> first; // of the program's part of the axis
  if (part_) {
    const TypedValue count = b_.integer(*space_.parts());
    first = b_.mul(*part_, count);
    end = b_.binary(BinaryKind::Minimum, b_.sub(end, *first), count);
  }
  auto run = [&](const TypedValue &position, const GroupBuilder::Values &carried) {
    Operation *loop = builder_.getInsertionBlock()->getParentOp();
    fixed_ = OpBuilder::InsertPoint(loop->getBlock(), loop->getIterator());
    varying_ = builder_.saveInsertionPoint();
    varyingValues_.clear();
    starts_[axis] = first ? b_.add(*first, position) : position;
    return body(carried);
  };
  GroupBuilder::Values results = b_.loop(end, tileExtent(axis), inits, 0, run);
  starts_[axis] = std::nullopt;
  fixed_ = varying_ = builder_.saveInsertionPoint();
  varyingValues_.clear();
  return results;
}

/// Reduces a tile. The axes of the function decide the order of one that is fixed, because those of a tile
/// may be fewer.
TypedValue GroupProgram::reduceTile(ReduceOp op, tile::ReduceKind kind, const TypedValue &x, int64_t along) {
  TypedValue result = b_.reduce(kind, x, along);
  if (hasFixedOrder(op)) {
    const bool alongLast = fixedBlock(op) == kReductionBlock;
    result.value.getDefiningOp<tile::ReduceOp>().setOrderAttr(
        tile::OrderAttr::fixed(builder_.getContext(), alongLast));
  }
  return result;
}

/// The join of two partial results of a fixed order.
auto GroupProgram::joinOf(ReduceKind kind) {
  return [this, kind](const GroupBuilder::Values &left, const GroupBuilder::Values &right) {
    return GroupBuilder::Values{b_.binary(*combinationOf(kind), left[0], right[0])};
  };
}

/// Does the reduced axis fit into a tile, as far as is known? It then needs no loops, and without loops the
/// passes share what they compute.
bool GroupProgram::isOneTile() {
  const int64_t axis = *space_.reducedAxis();
  const std::optional<int64_t> length = staticExtent(space_.space().getDims()[axis]);
  return fitsTile_ || (length && *length <= tileExtent(axis) && !space_.parts());
}

/// Emits one loop along the axis that computes all of `reductions`.
void GroupProgram::runPass(ArrayRef<ReduceOp> reductions, std::optional<Kept> kept) {
  int64_t axis = *space_.reducedAxis();
  const bool finds = llvm::all_of(reductions, [](ReduceOp op) { return isPosition(op.getKind()); });
  if (finds && (fitsTile_ || space_.parts() == tileExtent(axis))) return findAtOnce(reductions);
  int64_t along = axis == rows_ ? 0 : static_cast<int64_t>(tileRank()) - 1; // in the tile
  Shape shape(tileRank(), 1);
  if (tileRank() == 2) shape[1 - along] = tileExtent(axis == rows_ ? columns_ : rows_);
  // The result of reducing a tile, with the reduced axis restored.
  auto spread = [&](const TypedValue &x) {
    return x.isTile() ? b_.expandDims(x, along) : b_.broadcast(x, shape);
  };

  GroupBuilder::Values running; // for each reduction its value, then the position if it looks for one
  std::map<Operation *, TreeJoin> trees;
  for (ReduceOp op : reductions) {
    b_.at(op.getLoc());
    running.push_back(neutral(op.getKind(), dtypeOf(op.getInput().getType()), shape));
    if (hasFixedOrder(op) && !isOneTile())
      trees.try_emplace(op, b_, GroupBuilder::Values{running.back()},
                        nodesOf(staticExtent(space_.space().getDims()[axis]), tileExtent(axis)));
    if (!isPosition(op.getKind())) continue;
    TypedValue first =
        part_ ? b_.cast(b_.mul(*part_, b_.integer(*space_.parts())), DType::I32) : b_.integer(0, DType::I32);
    running.push_back(b_.broadcast(first, shape));
  }

  std::optional<TypedValue> isShort;
  if (!kept && !space_.parts() && finds)
    isShort = b_.binary(BinaryKind::Le, extent(space_.space().getDims()[axis]), b_.integer(tileExtent(axis)));

  auto step = [&](const GroupBuilder::Values &carried) {
    if (kept) {
      storeResult(kept->result, value(kept->value));
      readKept(*kept);
    }
    GroupBuilder::Values next;
    for (ReduceOp op : reductions) {
      ReduceKind kind = op.getKind();
      const TypedValue &before = carried[next.size()];
      TypedValue x = masked(op->getOpOperand(0), kind);
      b_.at(op.getLoc());
      if (!isPosition(kind)) {
        TypedValue reduced = spread(reduceTile(op, inTile(kind), x, along));
        if (auto tree = trees.find(op); tree != trees.end()) {
          TypedValue index = b_.binary(BinaryKind::FloorDiv, start(axis), b_.integer(tileExtent(axis)));
          tree->second.push(index, {reduced}, joinOf(kind));
          next.push_back(before);
          continue;
        }
        next.push_back(b_.binary(*combinationOf(kind), before, reduced));
        continue;
      }
      // A later tile wins only by a better value, or by the first NaN. That is rare, and only then is the
      // position computed.
      bool largest = isLargest(kind);
      TypedValue best = spread(b_.reduce(largest ? tile::ReduceKind::Max : tile::ReduceKind::Min, x, along));
      TypedValue wins = b_.binary(largest ? BinaryKind::Gt : BinaryKind::Lt, best, before);
      if (isFloat(x.dtype)) {
        TypedValue isNan = b_.binary(BinaryKind::Ne, best, best);
        TypedValue wasNone = b_.binary(BinaryKind::Eq, before, before);
        wins = b_.binary(BinaryKind::Or, wins, b_.binary(BinaryKind::And, isNan, wasNone));
      }
      GroupBuilder::Values old = {before, carried[next.size() + 1]};
      GroupBuilder::Values found = b_.branch(anyOf(wins), old, [&] {
        // A value that is read again needs no memory of its own.
        llvm::SaveAndRestore place(varying_, builder_.saveInsertionPoint());
        llvm::SaveAndRestore known(varyingValues_, decltype(varyingValues_)());
        TypedValue local = spread(b_.find(largest ? tile::ArgKind::Max : tile::ArgKind::Min,
                                          masked(op->getOpOperand(0), kind), along));
        TypedValue here = b_.add(local, b_.broadcast(b_.cast(start(axis), DType::I32), shape));
        TypedValue position = b_.select(wins, here, old[1]);
        return GroupBuilder::Values{b_.select(wins, best, before), position};
      });
      llvm::append_range(next, found);
    }
    return next;
  };
  running = walk(running, step, isShort);
  if (isShort) {
    GroupBuilder::Values positions;
    for (size_t i = 1; i < running.size(); i += 2)
      positions.push_back(running[i]);
    positions = findIfShort(reductions, *isShort, positions);
    for (size_t i = 1; i < running.size(); i += 2)
      running[i] = positions[i / 2];
  }

  size_t result = 0;
  for (ReduceOp op : reductions) {
    TypedValue value = running[result];
    if (isPosition(op.getKind())) value = running[++result];
    ++result;
    if (auto tree = trees.find(op); tree != trees.end()) {
      b_.at(op.getLoc());
      TypedValue length = extent(space_.space().getDims()[axis]), step = b_.integer(tileExtent(axis));
      TypedValue count = b_.binary(BinaryKind::FloorDiv, b_.add(length, b_.sub(step, b_.integer(1))), step);
      value = tree->second.joined(count, joinOf(op.getKind()))[0];
    }
    if (op.getKind() == ReduceKind::Mean) {
      TypedValue count = b_.cast(extent(space_.space().getDims()[axis]), value.dtype);
      value = b_.binary(BinaryKind::Div, value, b_.broadcast(count, shape));
    }
    fixedValues_[op.getResult()] = value;
  }
}

static bool isDear(Operation &op) {
  using graph::UnaryKind;
  auto unary = dyn_cast<graph::UnaryOp>(op);
  if (!unary) return false;
  switch (unary.getKind()) {
#define TSR_FLOAT_FUNCTION(id, name, text) case UnaryKind::id:
#include "compiler/ops/Functions.def"
  case UnaryKind::Silu:
  case UnaryKind::Gelu:
  case UnaryKind::GeluTanh:
    return true;
  default:
    return false;
  }
}

/// Has the value the result's dtype and axes, so that it is read back unchanged?
std::optional<GroupProgram::Kept> GroupProgram::findKept(ArrayRef<ReduceOp> last) {
  // The values that are computed tile by tile for `v`; reductions are already known.
  auto neededFor = [&](Value v) {
    llvm::SmallPtrSet<Operation *, 16> needed;
    SmallVector<Value> work{v};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      Operation *op = next.getDefiningOp();
      if (!space_.holds(next) || !space_.varies(next) || isa<ReduceOp>(op) || !needed.insert(op).second)
        continue;
      llvm::append_range(work, op->getOperands());
    }
    return needed;
  };
  llvm::SmallPtrSet<Operation *, 16> reduced;
  for (ReduceOp op : last)
    reduced.insert_range(neededFor(op.getInput()));
  Block &body = group_.getBody().front();
  for (unsigned i = 0; i < group_.getNumResults(); ++i) {
    Value result = body.getTerminator()->getOperand(i);
    if (!space_.varies(result)) continue;
    auto stored = neededFor(result);
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isDear(op) && reduced.contains(&op) && stored.contains(&op) &&
          op.getResult(0).getType() == result.getType() &&
          space_.axesOf(op.getResult(0)) == space_.axesOf(result))
        return Kept{op.getResult(0), i};
  }
  return std::nullopt;
}

/// From here on the pass reads the value from where it was stored. For the function, the result is only
/// written.
void GroupProgram::readKept(const Kept &kept) {
  auto type = cast<Tensor>(kept.value.getType());
  b_.barrier(); // another thread may have stored an element that this one reads
  varyingValues_[kept.value] = loadTile(results_[kept.result], type, space_.axesOf(kept.value), ArrayAttr());
}

/// Reports a tile that was edited to an extent along which a fixed order has no parts.
void GroupProgram::checkFixedOrders() {
  const int64_t axis = *space_.reducedAxis();
  for (auto op : group_.getBody().front().getOps<ReduceOp>()) {
    if (!hasFixedOrder(op)) continue;
    const std::string why =
        whyNotBlocks(tileExtent(axis), fixedBlock(op), staticExtent(space_.space().getDims()[axis]));
    if (why.empty()) continue;
    emitError(group_.getLoc()) << "the group has " << why;
    failed_ = true;
    return;
  }
}

void GroupProgram::buildReduce() {
  checkFixedOrders();
  // The depth of a reduction is the number of passes before its own.
  llvm::DenseMap<Value, size_t> depth;
  std::vector<SmallVector<ReduceOp>> passes;
  for (Operation &op : group_.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1) continue;
    size_t here = 0;
    for (Value operand : op.getOperands())
      if (auto it = depth.find(operand); it != depth.end()) here = std::max(here, it->second);
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      passes.resize(std::max(passes.size(), here + 1));
      passes[here].push_back(reduce);
      ++here;
    }
    depth[op.getResult(0)] = here;
  }
  std::optional<Kept> kept = isOneTile() ? std::nullopt : findKept(passes.back());
  for (auto &reductions : passes)
    runPass(reductions, &reductions == &passes.back() ? kept : std::nullopt);

  // Values that vary along the axis are stored tile by tile, the others once.
  Block &body = group_.getBody().front();
  SmallVector<unsigned> varying;
  for (unsigned i = 0; i < group_.getNumResults(); ++i)
    if (space_.varies(body.getTerminator()->getOperand(i)))
      varying.push_back(i);
    else
      storeResult(i);
  if (varying.empty()) return;
  walk({}, [&](const GroupBuilder::Values &none) {
    if (kept) readKept(*kept);
    for (unsigned i : varying)
      storeResult(i);
    return none;
  });
}

} // namespace tessera::schedule
