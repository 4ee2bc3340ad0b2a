// Bounds of tile accesses that hold for every start an i64 can have. An index is never formed as start +
// offset before the start is known to be near the tensor: what an access reaches is an interval of the tile's
// own axis.
#pragma once
#include "compiler/tile/IR/TileBounds.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace tessera::tile {

/// What is known about an index at compile time, whatever the dims and scalars are.
enum class IndexSign {
  NonNegative,
  /// A sum of non-negative terms below 2^64: its bits are exact as an unsigned number. `saturatedIndex` makes
  /// it non-negative.
  Wrapping,
  Unknown,
};
IndexSign signOf(mlir::Value index);

/// The largest value `index` can have if it is a non-negative i64; nullopt if it may be negative.
std::optional<uint64_t> largestIndex(mlir::Value index);

/// `index`, or the largest i64 where the sum has wrapped.
mlir::Value saturatedIndex(mlir::OpBuilder &b, mlir::Location loc, mlir::Value index, IndexSign sign);

/// The positions k of an axis of `extent` elements for which start + k is in [0, size). `start` is any i64
/// unless `isNonNegative`; `size` is not negative.
Interval presentInterval(mlir::OpBuilder &b, mlir::Location loc, mlir::Value start, int64_t extent,
                         mlir::Value size, bool isNonNegative);

} // namespace tessera::tile
