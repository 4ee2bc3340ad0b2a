// Estimates whether the lanes of a vector together are faster than one after the other. What decides is
// memory: consecutive elements cost a vector what one element costs a lane, but a gather takes several cycles
// per lane, and a loop of different lengths runs as long as its longest.
//
// The numbers are cycles of a Zen 4 and of a Sapphire Rapids, rounded. They need to be right within a factor
// of two: programs between them take about the same time either way.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "plugins/cpu/codegen/LaneVectors.h"

using namespace mlir;

namespace tessera::cpu {

namespace {

constexpr double kIterations = 8; // of a loop of unknown length
constexpr double kUneven = 2;     // the longest of some loops, by their mean
constexpr double kLatency = 3;    // of what an iteration passes to the next
constexpr double kScalarAccess = 0.6;
constexpr double kOfBlock = 4; // a vector of a block of steps (LaneRows.cpp): its share of loads and shuffles
/// LLVM takes tens of milliseconds for each operation that has two versions.
constexpr int64_t kMostVersions = 64;

bool isSlowFloat(Operation *op) { return isa<arith::DivFOp, math::SqrtOp, arith::RemFOp>(op); }

bool isIntegerDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::FloorDivSIOp, arith::RemSIOp>(op);
}

double iterationsOf(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop) return kIterations;
  auto from = getConstantIntValue(loop.getLowerBound()), to = getConstantIntValue(loop.getUpperBound()),
       step = getConstantIntValue(loop.getStep());
  if (!from || !to || !step || *step <= 0) return kIterations;
  return std::max(1.0, (static_cast<double>(*to) - static_cast<double>(*from)) / static_cast<double>(*step));
}

} // namespace

/// Is it emitted twice: for consecutive lanes, and for others?
bool KernelLowering::LaneVectors::hasTwoVersions(Operation *op) {
  if (isIntegerDivision(op) && !llvm::is_contained(shapes_.divisions(), op))
    return shapes_.of(op->getOperand(0)).isConsecutive();
  if (auto load = dyn_cast<tile::LoadElemOp>(op)) {
    std::optional<int64_t> apart = distance(k_.views_[load.getView()], positionsOf(load.getIndices()));
    if (apart && isInterleaved(*apart)) return true;
  }
  return isa<tile::LoadElemOp, tile::StoreElemOp>(op) && llvm::any_of(op->getOperands(), [&](Value v) {
           return v.getType().isIndex() && shapes_.of(v).isNear;
         });
}

bool KernelLowering::LaneVectors::isVectorFaster() {
  int64_t versions = 0;
  loop_->walk([&](Operation *op) { versions += hasTwoVersions(op); });
  if (versions > kMostVersions) return false;
  Cost cost = costOf(*loop_.getBody());
  return cost.vector <= cost.scalar;
}

auto KernelLowering::LaneVectors::costOf(Block &block) -> Cost {
  Cost sum;
  for (Operation &op : block.without_terminator()) {
    Cost cost = costOf(&op);
    sum.vector += cost.vector;
    sum.scalar += cost.scalar;
  }
  return sum;
}

auto KernelLowering::LaneVectors::costOf(Operation *op) -> Cost {
  const auto width = static_cast<double>(width_);
  auto isUniform = [&](Value v) { return shapes_.of(v).kind == LaneShape::Uniform; };
  if (op->getNumRegions()) {
    Cost body;
    for (Region &region : op->getRegions()) {
      if (region.empty()) continue;
      Cost cost = costOf(region.front());
      body.vector += cost.vector;
      body.scalar += cost.scalar;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      const double taken = branch.elseBlock() ? 0.5 : 1; // of two sides one lane takes one
      return {isUniform(branch.getCondition()) ? taken * body.vector : body.vector, taken * body.scalar};
    }
    if (op->getNumResults()) body.vector += kLatency / width, body.scalar += kLatency;
    const double count = iterationsOf(op), uneven = shapes_.isUniformLoop(op) ? 1 : kUneven;
    return {count * uneven * body.vector, count * body.scalar};
  }
  auto access = [&](auto op, bool isStore) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    const bool isInBlock = op.getInBounds() && loop && loop != loop_ && shapes_.isUniformLoop(loop) &&
                           isAlongRow(loop, op.getView(), op.getIndices());
    return isInBlock ? Cost{kOfBlock / width, kScalarAccess}
                     : costOfAccess(op.getView(), op.getIndices(), isStore);
  };
  if (auto load = dyn_cast<tile::LoadElemOp>(op)) return access(load, false);
  if (auto store = dyn_cast<tile::StoreElemOp>(op)) return access(store, true);
  if (isa<tile::AtomicOp, tile::AtomicCasOp>(op)) {
    auto update = dyn_cast<tile::AtomicOp>(op);
    bool isGathered = update && k_.privateValue(update) != k_.privateValues_.end();
    return isGathered ? Cost{1 / width, kLatency} : Cost{8, 6};
  }
  if (op->getNumResults() != 1 || llvm::is_contained(shapes_.divisions(), op)) return {};

  const bool isFunction = tile::isFunction(op) || isa<tile::RandOp, math::IPowIOp>(op);
  const double scalar = isFunction ? 15 : isIntegerDivision(op) ? 8 : isSlowFloat(op) ? 4 : 0.4;
  Type type = op->getResult(0).getType();
  if (shapes_.of(op->getResult(0)).kind != LaneShape::Varying) return {scalar / width, scalar};
  const auto bytes = type.isIndex() ? 8.0 : static_cast<double>(tessera::storageBytes(type));
  const double registers = std::max(1.0, width * bytes / static_cast<double>(k_.vectorBytes_));
  if (isIntegerDivision(op)) {
    const bool isShared = shapes_.of(op->getOperand(0)).isConsecutive() && isUniform(op->getOperand(1));
    if (isShared) return {14 / width, scalar};
    return {bytes > 4 ? 10 : 24 * registers / width, scalar}; // vectors of 64 bits have no division
  }
  return {(isFunction ? 25 : isSlowFloat(op) ? 10 : 0.7) * registers / width, scalar};
}

auto KernelLowering::LaneVectors::costOfAccess(Value tensor, ValueRange indices, bool isStore) -> Cost {
  constexpr double scalar = kScalarAccess;
  const auto width = static_cast<double>(width_);
  SmallVector<Index> all = positionsOf(indices);
  if (llvm::all_of(all, [](const Index &i) { return i.shape.kind == LaneShape::Uniform; }))
    return {scalar / width, scalar};
  const View &view = k_.views_[tensor];
  if (std::optional<int64_t> apart = distance(view, all)) {
    if (*apart == 1) return {1.5 / width, scalar};
    if (*apart == -1) return {2.5 / width, scalar};
    if (!isStore && isInterleaved(*apart)) return {2.0 * static_cast<double>(*apart) / width, scalar};
  }
  if (llvm::any_of(all, [](const Index &i) { return i.shape.isNear; })) return {6 / width, scalar};
  const bool isNarrow = target::inMemoryElement(view.element).getIntOrFloatBitWidth() < 32;
  const double perLane = isStore ? 5 : 4;            // each has an address of its own
  return {isNarrow ? 2 * perLane : perLane, scalar}; // narrow elements are gathered one by one
}

} // namespace tessera::cpu
