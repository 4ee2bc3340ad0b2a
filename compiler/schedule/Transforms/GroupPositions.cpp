// Positions of extremes in a group where one look at a tile finds them: the tile is all of the axis, or of
// the program's part of it. GroupReduce.cpp has the walk along longer ones.
#include "compiler/schedule/Transforms/GroupProgram.h"

using namespace mlir;

namespace tessera::schedule {

using graph::ReduceOp;

/// Returns the positions of extremes in the tile that begins at start() of the reduced axis.
GroupBuilder::Values GroupProgram::findInTile(ArrayRef<ReduceOp> reductions) {
  const int64_t axis = *space_.reducedAxis(),
                along = axis == rows_ ? 0 : static_cast<int64_t>(tileRank()) - 1;
  GroupBuilder::Values positions;
  for (ReduceOp op : reductions) {
    b_.at(op.getLoc());
    TypedValue x = masked(op->getOpOperand(0), op.getKind());
    TypedValue at = b_.find(isLargest(op.getKind()) ? tile::ArgKind::Max : tile::ArgKind::Min, x, along);
    at = at.isTile() ? b_.expandDims(at, along) : b_.broadcast(at, Shape(tileRank(), 1));
    if (starts_[axis]) at = b_.add(at, b_.broadcast(b_.cast(start(axis), DType::I32), at.shape()));
    positions.push_back(at);
  }
  return positions;
}

/// Returns the positions that an axis which fits one tile has: the tile is looked at once, where a walk
/// compares its extreme with those before.
GroupBuilder::Values GroupProgram::findIfShort(ArrayRef<ReduceOp> reductions, const TypedValue &isShort,
                                               const GroupBuilder::Values &otherwise) {
  const OpBuilder::InsertPoint after = fixed_;
  GroupBuilder::Values found = b_.branch(isShort, otherwise, [&] {
    Operation *branch = builder_.getInsertionBlock()->getParentOp();
    fixed_ = OpBuilder::InsertPoint(branch->getBlock(), branch->getIterator());
    varying_ = builder_.saveInsertionPoint();
    return findInTile(reductions);
  });
  fixed_ = varying_ = after;
  varyingValues_.clear();
  return found;
}

/// Finds positions in an axis, or a part of it, that is one tile, without a loop.
void GroupProgram::findAtOnce(ArrayRef<ReduceOp> reductions) {
  const int64_t axis = *space_.reducedAxis();
  if (part_) starts_[axis] = b_.mul(*part_, b_.integer(*space_.parts()));
  varyingValues_.clear();
  for (auto [op, position] : llvm::zip_equal(reductions, findInTile(reductions)))
    fixedValues_[op->getResult(0)] = position;
  starts_[axis] = std::nullopt;
  fixed_ = varying_ = builder_.saveInsertionPoint();
  varyingValues_.clear();
}

} // namespace tessera::schedule
