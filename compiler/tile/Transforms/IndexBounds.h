// Bounds of tile accesses that are correct for every i64 start. An index is never computed as start + offset
// before the start is known to be near the tensor: the part that an access reaches is an interval of the
// tile's own axis.
#pragma once
#include "compiler/tile/IR/TileBounds.h"
#include "mlir/IR/Builders.h"
#include <optional>

namespace tessera::tile {

/// What is known about an index at compile time, for all values of the dims and scalars.
enum class IndexSign {
  NonNegative,
  /// It is a sum of non-negative terms below 2^64, whose bits are exact as an unsigned number.
  /// `saturatedIndex` makes it non-negative.
  Wrapping,
  Unknown,
};
IndexSign signOf(mlir::Value index);

/// Returns the largest value `index` can have if it is a non-negative i64; nullopt if it may be negative.
std::optional<uint64_t> largestIndex(mlir::Value index);

/// Returns `v` without casts between index and i64, which keep its value.
mlir::Value uncast(mlir::Value v);

/// Is `v` known to be greater than 0 where `op` is? In a loop over lanes, factors of the number of lanes and
/// their products are.
bool isPositiveAt(mlir::Value v, mlir::Operation *op);

/// May the operation run where `at` is, although it might not run there? Division traps for 0, and signed
/// division for -1 if the quotient overflows; upstream considers remainders harmless.
bool canRunAt(mlir::Operation *op, mlir::Operation *at);

/// Returns `index`, or the largest i64 if the sum has wrapped.
mlir::Value saturatedIndex(mlir::OpBuilder &b, mlir::Location loc, mlir::Value index, IndexSign sign);

/// Returns the positions k of an axis of `extent` elements for which start + k is in [0, size). `start` may
/// be any i64 unless `isNonNegative`; `size` must not be negative.
Interval presentInterval(mlir::OpBuilder &b, mlir::Location loc, mlir::Value start, int64_t extent,
                         mlir::Value size, bool isNonNegative);

} // namespace tessera::tile
