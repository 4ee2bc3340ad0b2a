// Reductions of a group: a pass over the reduced axis for each reduction that needs another's result, then
// one that stores. What a pass needs is computed again from the inputs; nothing of the axis' length stays in
// the program. Of a function that is dear (softmax's exp) the last reductions leave the values in the result,
// where the storing pass finds them.
#include "compiler/schedule/Transforms/GroupProgram.h"
#include <limits>

using namespace mlir;

namespace tessera::schedule {

using graph::ReduceKind;
using graph::ReduceOp;

static bool isPosition(ReduceKind kind) { return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin; }

static bool isLargest(ReduceKind kind) { return kind == ReduceKind::Max || kind == ReduceKind::ArgMax; }

ExprPtr GroupProgram::neutral(ReduceKind kind, DType dtype, const Shape &shape) {
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
  int64_t most = isSigned ? std::numeric_limits<int64_t>::max() >> (64 - bits) : (int64_t{1} << bits) - 1;
  return b_.broadcast(b_.integer(lowest ? least : most, dtype), shape);
}

/// Whether the tile pipeline knows that elements past the end of the reduced axis are absent: a tensor that
/// ends there is read. Positions and constants have no end; a choice and integer arithmetic may fold to an
/// operand that has none (select %c, %x, %x).
bool GroupProgram::isAbsentPastEdge(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa<graph::SelectOp>(op) || !isFloat(dtypeOf(v.getType()))) return false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<Tensor>(operand.get().getType())) continue;
    if (space_.holds(operand.get()) ? space_.varies(operand.get()) && isAbsentPastEdge(operand.get())
                                    : llvm::is_contained(space_.axesOf(operand), *space_.reducedAxis()))
      return true;
  }
  return false;
}

/// The reduction's operand, with its neutral element past the end of the axis.
ExprPtr GroupProgram::masked(OpOperand &input, ReduceKind kind) {
  int64_t axis = *space_.reducedAxis();
  Shape shape(tileRank(), 1);
  shape.back() = tileExtent(columns_);
  if (tileRank() == 2) shape.front() = tileExtent(rows_);
  ExprPtr x = b_.broadcast(value(input), shape);
  if (!space_.holds(input.get()) || isAbsentPastEdge(input.get())) return x;
  ExprPtr place = b_.arange(start(axis), tileExtent(axis));
  ExprPtr end = b_.broadcast(b_.cast(extent(space_.space().getDims()[axis]), DType::I32), {tileExtent(axis)});
  ExprPtr inside = b_.compare(Op::Lt, std::move(place), std::move(end));
  if (tileRank() == 2) inside = b_.expandDims(std::move(inside), axis == rows_ ? 1 : 0);
  frontend::Type type = x->type;
  ExprPtr fill = neutral(kind, type.dtype, shape);
  return b_.make(Op::Select, std::move(type), b_.broadcast(std::move(inside), shape), std::move(x),
                 std::move(fill));
}

/// Whether any element of the bool tile `symbol` holds.
ExprPtr GroupProgram::anyOf(SymbolId symbol) {
  ExprPtr each = b_.cast(b_.var(symbol), DType::I32);
  int64_t count = 1;
  for (int64_t extent : each->type.shape)
    count *= extent;
  ExprPtr largest =
      b_.make(Op::Max, ProgramBuilder::scalar(DType::I32), b_.reshape(std::move(each), {count}));
  largest->ints = {0};
  return b_.compare(Op::Ne, std::move(largest), b_.integer(0, DType::I32));
}

/// One walk along the axis that takes all of `reductions`.
void GroupProgram::runPass(ArrayRef<ReduceOp> reductions, std::optional<Kept> kept) {
  SmallVector<ReduceOp> ops(reductions);
  int64_t axis = *space_.reducedAxis();
  int64_t along = axis == rows_ ? 0 : static_cast<int64_t>(tileRank()) - 1; // in the tile
  Shape shape(tileRank(), 1);
  if (tileRank() == 2) shape[1 - along] = tileExtent(axis == rows_ ? columns_ : rows_);
  Shape line = shape; // what a reduction of a tile gives
  line.erase(line.begin() + along);

  struct Running {
    SymbolId best, position = -1;
  };
  std::vector<Running> running;
  std::vector<SymbolId> carried;
  for (ReduceOp op : ops) {
    b_.at(op.getLoc());
    DType dtype = dtypeOf(op.getInput().getType());
    Running r{b_.assign("acc", neutral(op.getKind(), dtype, shape))};
    carried.push_back(r.best);
    if (isPosition(op.getKind())) {
      r.position = b_.assign("at", b_.full(0, DType::I32, shape));
      carried.push_back(r.position);
    }
    running.push_back(r);
  }

  frontend::Block body;
  fixed_ = b_.into(&body);
  varying_ = &body;
  varyingValues_.clear();
  SymbolId var = b_.symbol("k", ProgramBuilder::scalar(DType::I64));
  starts_[axis] = b_.var(var);
  auto reduced = [&](Op code, DType dtype, ExprPtr x) {
    ExprPtr e = b_.make(
        code, line.empty() ? ProgramBuilder::scalar(dtype) : ProgramBuilder::tile(dtype, line), std::move(x));
    e->ints = {along};
    return line.empty() ? b_.broadcast(std::move(e), shape) : b_.expandDims(std::move(e), along);
  };
  if (kept) {
    storeResult(kept->result, value(kept->value));
    readKept(*kept);
  }
  for (auto [op, r] : llvm::zip_equal(ops, running)) {
    DType dtype = dtypeOf(op.getInput().getType());
    ReduceKind kind = op.getKind();
    SymbolId x = b_.assign("x", masked(op->getOpOperand(0), kind));
    b_.at(op.getLoc());
    if (!isPosition(kind)) {
      bool adds = kind == ReduceKind::Sum || kind == ReduceKind::Mean;
      Op take = adds ? Op::Sum : kind == ReduceKind::Prod ? Op::Prod : isLargest(kind) ? Op::Max : Op::Min;
      Op join = adds                       ? Op::Add
                : kind == ReduceKind::Prod ? Op::Mul
                : isLargest(kind)          ? Op::Maximum
                                           : Op::Minimum;
      b_.rebind(r.best, b_.binary(join, b_.var(r.best), reduced(take, dtype, b_.var(x))));
      continue;
    }
    // A later tile wins by a better value only, or by the first NaN. Few do, and only those look for the
    // position.
    bool largest = isLargest(kind);
    SymbolId best = b_.assign("best", reduced(largest ? Op::Max : Op::Min, dtype, b_.var(x)));
    ExprPtr wins = b_.compare(largest ? Op::Gt : Op::Lt, b_.var(best), b_.var(r.best));
    if (isFloat(dtype)) {
      ExprPtr isNan = b_.compare(Op::Ne, b_.var(best), b_.var(best));
      ExprPtr wasNone = b_.compare(Op::Eq, b_.var(r.best), b_.var(r.best));
      wins = b_.binary(Op::Or, std::move(wins), b_.binary(Op::And, std::move(isNan), std::move(wasNone)));
    }
    SymbolId chosen = b_.assign("wins", std::move(wins));
    frontend::Block search;
    frontend::Block *pass = b_.into(&search);
    auto known = varyingValues_;
    varying_ = &search;
    varyingValues_.clear(); // what is read again needs no memory of its own
    ExprPtr local = reduced(largest ? Op::ArgMax : Op::ArgMin, DType::I32, masked(op->getOpOperand(0), kind));
    ExprPtr here =
        b_.binary(Op::Add, std::move(local), b_.broadcast(b_.cast(b_.var(var), DType::I32), shape));
    auto choose = [&](ExprPtr yes, SymbolId no) {
      frontend::Type type = yes->type;
      return b_.make(Op::Select, std::move(type), b_.var(chosen), std::move(yes), b_.var(no));
    };
    b_.rebind(r.position, choose(std::move(here), r.position));
    b_.rebind(r.best, choose(b_.var(best), r.best));
    varyingValues_ = std::move(known);
    varying_ = pass;
    b_.into(pass);
    b_.branch(anyOf(chosen), {r.best, r.position}, std::move(search));
  }
  b_.into(fixed_);
  starts_[axis] = nullptr;
  b_.loop(var, b_.integer(0), extent(space_.space().getDims()[axis]), tileExtent(axis), carried, 0,
          std::move(body));

  for (auto [op, r] : llvm::zip_equal(ops, running)) {
    SymbolId result = isPosition(op.getKind()) ? r.position : r.best;
    if (op.getKind() == ReduceKind::Mean) {
      DType dtype = dtypeOf(op.getInput().getType());
      ExprPtr count = b_.cast(extent(space_.space().getDims()[axis]), dtype);
      result = b_.assign("mean", b_.binary(Op::Div, b_.var(result), b_.broadcast(std::move(count), shape)));
    }
    fixedValues_[op.getResult()] = result;
  }
}

static bool isDear(Operation &op) {
  using graph::UnaryKind;
  auto unary = dyn_cast<graph::UnaryOp>(op);
  return unary && llvm::is_contained({UnaryKind::Exp, UnaryKind::Exp2, UnaryKind::Log, UnaryKind::Log2,
                                      UnaryKind::Tanh, UnaryKind::Sigmoid, UnaryKind::Erf, UnaryKind::Sin,
                                      UnaryKind::Cos, UnaryKind::Silu, UnaryKind::Gelu, UnaryKind::GeluTanh},
                                     unary.getKind());
}

/// The value has the result's dtype and axes, so that it comes back as it was.
std::optional<GroupProgram::Kept> GroupProgram::findKept(ArrayRef<ReduceOp> last) {
  // What is computed tile by tile for `v`: reductions are not, they are known by then.
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

/// From here on the pass takes the value from where it was stored.
void GroupProgram::readKept(const Kept &kept) {
  auto type = cast<Tensor>(kept.value.getType());
  int result = results_[kept.result];
  b_.barrier(); // another thread may have stored what one reads
  varyingValues_[kept.value] =
      b_.assign("kept", loadTile(result, type, space_.axesOf(kept.value), ArrayAttr()));
  // It reads what it has written: to the function the result is only written.
  kernel_.params[static_cast<size_t>(result)].reads = false;
}

void GroupProgram::buildReduce() {
  // A reduction's depth is the number of passes before its own.
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
  std::optional<Kept> kept = findKept(passes.back());
  for (auto &reductions : passes)
    runPass(reductions, &reductions == &passes.back() ? kept : std::nullopt);

  // The values that vary along the axis are stored tile by tile, the others once.
  Block &body = group_.getBody().front();
  auto varies = [&](unsigned i) { return space_.varies(body.getTerminator()->getOperand(i)); };
  int64_t axis = *space_.reducedAxis();
  frontend::Block tiles;
  fixed_ = b_.block();
  varying_ = &tiles;
  varyingValues_.clear();
  SymbolId var = b_.symbol("k", ProgramBuilder::scalar(DType::I64));
  starts_[axis] = b_.var(var);
  b_.into(&tiles);
  if (kept) readKept(*kept);
  for (unsigned i = 0; i < group_.getNumResults(); ++i)
    if (varies(i)) storeResult(i);
  b_.into(fixed_);
  starts_[axis] = nullptr;
  for (unsigned i = 0; i < group_.getNumResults(); ++i)
    if (!varies(i)) storeResult(i);
  if (!tiles.empty())
    b_.loop(var, b_.integer(0), extent(space_.space().getDims()[axis]), tileExtent(axis), {}, 0,
            std::move(tiles));
}

} // namespace tessera::schedule
