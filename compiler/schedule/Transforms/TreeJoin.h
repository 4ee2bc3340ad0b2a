// Joins a sequence of partial results pairwise, whose number is known only at launch.
#pragma once
#include "compiler/schedule/Transforms/GroupBuilder.h"

namespace tessera::schedule {

/// Nodes that come in the order of their indices are joined as a balanced tree: 2i with 2i + 1, level by
/// level; the last one of an odd number moves up unchanged. After n nodes shared memory holds one partial
/// result for each bit of n that is set, as digits of a binary counter: pushing node n joins as many of them
/// as n has trailing ones. Lives for one loop of one program.
class TreeJoin {
public:
  using Values = GroupBuilder::Values;
  using Join = llvm::function_ref<Values(const Values &left, const Values &right)>;

  /// Nodes have values like these, which must be tiles. They stand for a sequence without nodes. `most`: as
  /// many nodes there are at most, if that is known.
  TreeJoin(GroupBuilder &, const Values &none, std::optional<int64_t> most);
  /// Takes node `index` (i64). Nodes must be taken in the order of their indices, from 0 on.
  void push(const TypedValue &index, Values node, Join);
  /// Returns the join of all nodes, of which there are `count` (i64).
  Values joined(const TypedValue &count, Join);

private:
  Values read(const TypedValue &level);
  void write(const TypedValue &level, const Values &);

  GroupBuilder &b_;
  const Values none_;
  mlir::SmallVector<mlir::Value> levels_; // [levels, shape of the value]
};

} // namespace tessera::schedule
