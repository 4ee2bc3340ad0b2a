#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/tile/IR/Profiles.h"
#include "numerics/NumericsProfile.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::schedule {

/// Elements of a tile: values that are computed from several others may be kept in scratch.
constexpr int64_t kMostElements = 32768;
/// Blocks of a row that fits into a tile.
constexpr int64_t kMostBlocks = 4;

static bool fixesReductions(Operation *op) {
  return permitsOf(op->getParentOfType<graph::FuncOp>()).value_or(NumericsPermissions()).fixedReductions;
}

bool hasLeaves(graph::MatmulOp op) {
  return isa<FloatType>(op.getA().getType().getElementType()) && fixesReductions(op);
}

bool hasKeyBlocks(graph::AttentionOp op) { return fixesReductions(op); }

bool hasFixedOrder(graph::ReduceOp op) {
  using graph::ReduceKind;
  const ReduceKind kind = op.getKind();
  if (kind != ReduceKind::Sum && kind != ReduceKind::Mean && kind != ReduceKind::Prod) return false;
  return isa<FloatType>(op.getInput().getType().getElementType()) && fixesReductions(op);
}

int64_t fixedBlock(graph::ReduceOp op) {
  const bool alongLast = op.getAxes().back() + 1 == op.getInput().getType().getRank();
  return alongLast ? kReductionBlock : kReductionLeaf;
}

void fitToBlocks(MutableArrayRef<int64_t> tile, bool reducesRows, int64_t block,
                 std::optional<int64_t> length, bool hasThreads) {
  int64_t &along = reducesRows ? tile.front() : tile.back();
  int64_t &across = reducesRows ? tile.back() : tile.front();
  if (length && *length <= (hasThreads ? 1 : kMostBlocks) * block)
    along = std::max<int64_t>(reducesRows ? 1 : 16, llvm::PowerOf2Ceil(static_cast<uint64_t>(*length)));
  else
    along = block;
  if (tile.size() > 1) across = std::min(across, std::max<int64_t>(kMostElements / along, 1));
}

std::optional<int64_t> nodesOf(std::optional<int64_t> length, int64_t block) {
  if (!length) return std::nullopt;
  return static_cast<int64_t>(llvm::divideCeil(static_cast<uint64_t>(*length), static_cast<uint64_t>(block)));
}

std::string whyNotBlocks(int64_t extent, int64_t block, std::optional<int64_t> length) {
  if (length && *length <= extent) return "";
  if (extent % block == 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(extent / block))) return "";
  return "tiles of " + std::to_string(extent) +
         " elements along the reduced axis; fixed_reductions joins blocks of " + std::to_string(block) +
         ": write " + std::to_string(block) + ", or a power of two times it";
}

} // namespace tessera::schedule
