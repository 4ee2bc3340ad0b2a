// Tile sizes that several targets propose.
#pragma once
#include "compiler/codegen/TargetBackend.h"

namespace tessera::codegen {

/// The largest number of columns of a tile that has rows.
inline constexpr int64_t kMostColumns = 512;

/// The smallest power of two that covers `extent`, within [least, most]; `most` if the extent is unknown.
int64_t coverExtent(std::optional<int64_t> extent, int64_t least, int64_t most);

/// A tile of up to `elements` elements for elementwise groups, gathers and reductions, which is as wide as
/// the tensor up to `mostColumns`.
llvm::SmallVector<int64_t> proposeCommonTile(const TileRequest &, int64_t elements,
                                             int64_t mostColumns = kMostColumns);

} // namespace tessera::codegen
