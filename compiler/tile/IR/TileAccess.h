// Rules that are common to the operations that access a rectangle of a view or buffer.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace tessera::tile {

/// Returns the shape of a tile with these `extents`: those that are not -1.
llvm::SmallVector<int64_t> tileShape(llvm::ArrayRef<int64_t> extents);

/// Checks the starts and extents of an access to memory of `rank` dims (called `what` in messages).
mlir::LogicalResult verifyAccess(mlir::Operation *, int64_t rank, size_t starts,
                                 llvm::ArrayRef<int64_t> extents);

/// Checks the same, and that `tile` has the type that the access returns or takes.
mlir::LogicalResult verifyTileAccess(mlir::Operation *, int64_t rank, mlir::Type memoryElement, size_t starts,
                                     llvm::ArrayRef<int64_t> extents, mlir::Type tile);

/// Returns the type of the elements of a view or a buffer.
mlir::Type memoryElement(mlir::Type memory);

/// The axes of a tile that is gathered or scattered: those of slices, and those of the tiles of indices.
struct GatherAxes {
  size_t first = 0;                               // of the indices' axes, which follow each other
  llvm::SmallVector<int64_t> indices;             // the shape of the tiles of indices
  llvm::SmallVector<int64_t> shape;               // of the tile
  llvm::SmallVector<std::optional<size_t>> ofDim; // the axis of each dim that is a slice
};

/// Returns the axes of an access by `indices`, at least one of which is a tile.
GatherAxes gatherAxes(mlir::ValueRange indices, llvm::ArrayRef<int64_t> extents);

/// Checks bounds: either none, or a lower and an upper one per axis of the tile.
mlir::LogicalResult verifyBounds(mlir::Operation *, size_t lower, size_t upper, int64_t rank);

} // namespace tessera::tile
