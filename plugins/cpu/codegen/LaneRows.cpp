// Loops in which each lane walks a row of its own.
//
//   for k in range(K):          rows r, r + 1, ... of A are those of the lanes of a vector: each step would
//     s += A[r, k] * x[k]       gather one element of each row
//
// A block of steps is read as pieces of rows instead, which are transposed in registers; what the lanes store
// to rows of their own is transposed back. The steps of a lane keep their order.
#include "compiler/tile/IR/DTypes.h"
#include "plugins/cpu/codegen/LaneVectors.h"

using namespace mlir;

namespace tessera::cpu {

namespace {

/// Pieces of rows have so many bytes: shuffles exchange elements within 16 bytes in one step.
constexpr int64_t kPieceBytes = 16;

/// The most operations that the steps of a block are emitted as.
constexpr int64_t kMostOperations = 400;

/// Is `v` the loop's variable, plus values that the loop does not change? It then grows by 1 with each step.
bool followsStep(scf::ForOp loop, Value v) {
  if (v == loop.getInductionVar()) return true;
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody()) return false;
  if (isa<arith::IndexCastOp>(op)) return followsStep(loop, op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp>(op)) return false;
  const bool isFirst = loop.isDefinedOutsideOfLoop(op->getOperand(1)),
             isSecond = loop.isDefinedOutsideOfLoop(op->getOperand(0));
  return (isFirst && followsStep(loop, op->getOperand(0))) ||
         (isSecond && isa<arith::AddIOp>(op) && followsStep(loop, op->getOperand(1)));
}

/// Returns the tensor that an operation accesses; null: none.
Value accessedBy(Operation *op) {
  if (auto load = dyn_cast<tile::LoadElemOp>(op)) return load.getView();
  if (auto store = dyn_cast<tile::StoreElemOp>(op)) return store.getView();
  return {};
}

} // namespace

bool KernelLowering::LaneVectors::isAlongRow(scf::ForOp loop, Value tensor, ValueRange indices) {
  const View &view = k_.views_[tensor];
  if (indices.size() < 2 || !isConstantIntValue(view.strides.back(), 1) || view.element.isInteger(1) ||
      isPacked(view.element))
    return false;
  if (shapes_.of(indices.back()).kind != LaneShape::Uniform || !followsStep(loop, indices.back()))
    return false;
  const auto outer = indices.drop_back();
  if (!llvm::all_of(outer, [&](Value v) {
        return loop.isDefinedOutsideOfLoop(v) && shapes_.of(v).kind != LaneShape::Varying;
      }))
    return false;
  if (llvm::all_of(outer, [&](Value v) { return shapes_.of(v).kind == LaneShape::Uniform; })) return false;
  std::optional<int64_t> apart = distance(view, positionsOf(indices));
  return !apart || std::abs(*apart) > kMostInterleaved;
}

auto KernelLowering::LaneVectors::rowAccesses(scf::ForOp loop) -> RowAccesses {
  RowAccesses rows;
  if (active_ || !shapes_.isUniformLoop(loop) || !isConstantIntValue(loop.getStep(), 1)) return rows;
  llvm::DenseMap<Value, int64_t> accesses, stores; // by view
  int64_t operations = 0;
  const bool isSimple = !loop.getBody()
                             ->walk([&](Operation *op) {
                               ++operations;
                               if (Value view = accessedBy(op)) {
                                 ++accesses[view];
                                 if (isa<tile::StoreElemOp>(op)) ++stores[view];
                               }
                               const bool isOrdered =
                                   isa<scf::ForOp, scf::WhileOp, tile::AtomicOp, tile::AtomicCasOp,
                                       tile::FenceOp, tile::BarrierOp>(op);
                               return isOrdered ? WalkResult::interrupt() : WalkResult::advance();
                             })
                             .wasInterrupted();
  if (!isSimple) return rows;
  rows.steps = width_;
  auto take = [&](auto op) {
    if (!op.getInBounds() && !(isInterior_ && unmasked_.contains(op))) return false;
    if (!isAlongRow(loop, op.getView(), op.getIndices())) return false;
    const auto bits = target::inMemoryElement(k_.views_[op.getView()].element).getIntOrFloatBitWidth();
    rows.steps = std::min<int64_t>(rows.steps, 8 * kPieceBytes / bits);
    return true;
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto load = dyn_cast<tile::LoadElemOp>(op)) {
      if (!stores.lookup(load.getView()) && take(load)) rows.loads.push_back(load);
    } else if (auto store = dyn_cast<tile::StoreElemOp>(op)) {
      if (accesses.lookup(store.getView()) == 1 && take(store)) rows.stores.push_back(store);
    }
  }
  if (rows.steps < 2 || operations * rows.steps > kMostOperations) return {};
  return rows;
}

/// Returns the addresses of the elements that the lanes access, in the step for which the loop's variable is
/// mapped.
SmallVector<Value> KernelLowering::LaneVectors::rowAddresses(scf::ForOp loop, Value tensor,
                                                             ValueRange indices) {
  const View &view = k_.views_[tensor];
  std::function<Value(Value)> inStep = [&](Value v) {
    Operation *op = v.getDefiningOp();
    if (v == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(v)) return k_.scalar(v);
    for (Value operand : op->getOperands())
      k_.map_.map(operand, inStep(operand));
    (void)k_.lowerScalarOp(op); // arithmetic, which does not fail
    return k_.scalar(v);
  };
  SmallVector<Value> bases;
  Value apart; // elements from one lane's row to the next one's
  for (auto [v, stride] : llvm::zip_equal(indices, view.strides)) {
    bases.push_back(inStep(v));
    const LaneShape shape = shapes_.of(v);
    if (shape.kind == LaneShape::Uniform) continue;
    Value grows = shape.step ? k_.constant(*shape.step) : steps_[v];
    Value term = b_.createOrFold<arith::MulIOp>(grows, stride);
    apart = apart ? b_.createOrFold<arith::AddIOp>(apart, term) : term;
  }
  SmallVector<Value> addresses = {k_.elementAddress(view, bases)};
  for (int64_t lane = 1; lane < width_; ++lane)
    addresses.push_back(k_.address(addresses.back(), apart, view.element));
  return addresses;
}

/// Returns the values of `steps` steps, one vector of lanes each.
SmallVector<Value> KernelLowering::LaneVectors::loadRows(scf::ForOp loop, tile::LoadElemOp op,
                                                         int64_t steps) {
  Type element = k_.views_[op.getView()].element;
  SmallVector<Value> pieces, lines;
  for (Value address : rowAddresses(loop, op.getView(), op.getIndices()))
    pieces.push_back(k_.load(element, address, steps));
  for (int64_t r = 0; r < steps; ++r) {
    Vec<Value> parts;
    for (int64_t lane = r; lane < width_; lane += steps)
      parts.push_back(pieces[lane]);
    lines.push_back(k_.joined(std::move(parts)));
  }
  k_.transposeGroups(lines);
  return lines;
}

void KernelLowering::LaneVectors::storeRows(scf::ForOp loop, tile::StoreElemOp op, SmallVector<Value> lines) {
  const auto steps = static_cast<int64_t>(lines.size());
  k_.transposeGroups(lines);
  for (auto [lane, address] : llvm::enumerate(rowAddresses(loop, op.getView(), op.getIndices()))) {
    const auto first = static_cast<int64_t>(lane) / steps * steps;
    Value line = lines[lane % steps];
    Value piece =
        vector::ShuffleOp::create(b_, line, line, llvm::to_vector(llvm::seq<int64_t>(first, first + steps)));
    k_.store(k_.views_[op.getView()].element, piece, address);
  }
}

LogicalResult KernelLowering::LaneVectors::lowerBlocks(scf::ForOp op, const RowAccesses &rows) {
  Value lower = k_.scalar(op.getLowerBound());
  Value upper = b_.createOrFold<arith::MaxSIOp>(k_.scalar(op.getUpperBound()), lower);
  Value count = k_.roundDown(b_.createOrFold<arith::SubIOp>(upper, lower), rows.steps);
  Value whole = b_.createOrFold<arith::AddIOp>(lower, count);
  SmallVector<Value> carried;
  for (auto [init, arg] : llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs()))
    carried.push_back(inForm(init, shapes_.of(arg)));
  auto step = [&](Value variable) -> LogicalResult {
    bind(op.getInductionVar(), variable);
    bind(op.getRegionIterArgs(), carried);
    if (failed(this->lower(*op.getBody()))) return failure();
    carried.clear();
    for (auto [v, arg] : llvm::zip_equal(op.getYieldedValues(), op.getRegionIterArgs()))
      carried.push_back(inForm(v, shapes_.of(arg)));
    return success();
  };
  auto walk = [&](Value from, Value to, int64_t by, llvm::function_ref<LogicalResult(Value)> body) {
    auto loop = scf::ForOp::create(b_, from, to, k_.constant(by), carried);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    if (failed(body(loop.getInductionVar()))) return failure();
    if (loop.getNumResults()) scf::YieldOp::create(b_, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
    return success();
  };
  auto block = [&](Value first) -> LogicalResult {
    k_.map_.map(op.getInductionVar(), first);
    SmallVector<SmallVector<Value>> loaded;
    for (tile::LoadElemOp load : rows.loads)
      loaded.push_back(loadRows(op, load, rows.steps));
    for (tile::StoreElemOp store : rows.stores)
      storedRows_[store] = {};
    for (int64_t k = 0; k < rows.steps; ++k) {
      for (auto [load, lines] : llvm::zip_equal(rows.loads, loaded))
        loadedRows_[load] = lines[k];
      Value variable = k ? arith::AddIOp::create(b_, first, k_.constant(k)).getResult() : first;
      if (failed(step(variable))) return failure();
    }
    k_.map_.map(op.getInductionVar(), first);
    for (tile::StoreElemOp store : rows.stores)
      storeRows(op, store, storedRows_[store]);
    loadedRows_.clear();
    storedRows_.clear();
    return success();
  };
  if (failed(walk(lower, whole, rows.steps, block)) || failed(walk(whole, upper, 1, step))) return failure();
  bind(op.getResults(), carried);
  return success();
}

} // namespace tessera::cpu
