// Sums whose order the numerics profile fixes (`fixed_reductions`, docs/strict.md).
#pragma once
#include "compiler/graph/IR/GraphDialect.h"

namespace tessera::schedule {

/// Keys of attention that one step takes, and keys of a run of such steps. Runs are joined pairwise.
inline constexpr int64_t kKeyBlock = 128, kKeyRun = 2048;

/// Is it a sum, mean or product of floats in a function whose profile has fixed reductions?
bool hasFixedOrder(graph::ReduceOp);
/// Is it a product of floats in such a function? Its terms are added in leaves of kReductionLeaf.
bool hasLeaves(graph::MatmulOp);
/// Is it attention in such a function? It takes keys in blocks, and blocks in runs.
bool hasKeyBlocks(graph::AttentionOp);

/// The elements along the reduced axis that are combined before blocks are joined.
int64_t fixedBlock(graph::ReduceOp);

/// Gives a tile, of [rows, columns], as many elements along the reduced axis as blocks need: all of a short
/// axis, else one block. `length` is the extent of the axis, if it is known. Threads share one block.
void fitToBlocks(llvm::MutableArrayRef<int64_t> tile, bool reducesRows, int64_t block,
                 std::optional<int64_t> length, bool hasThreads);

/// The number of blocks of an axis, if its length is known.
std::optional<int64_t> nodesOf(std::optional<int64_t> length, int64_t block);

/// Returns why tiles of so many elements along the axis cannot be joined as the profile asks; empty: they
/// can.
std::string whyNotBlocks(int64_t extent, int64_t block, std::optional<int64_t> length);

} // namespace tessera::schedule
