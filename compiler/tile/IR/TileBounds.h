// Which elements of a tile are in bounds. A tile may extend past its tensor; elements that do so are masked.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace tessera::tile {

/// Positions [lo, hi) along one axis of a tile.
struct Interval {
  mlir::Value lo, hi; // index, between 0 and the tile's extent
};

/// One entry per axis; nullopt: the whole axis.
using Box = llvm::SmallVector<std::optional<Interval>>;

/// An element is in bounds if its position is in the box and its flag is set. Tiles that were read have only
/// a box. What `where`, `reshape` and `concat` make of it may not be a box; then there are flags.
struct Bounds {
  Box box;
  mlir::Value flags = {}; // tile of i1 of the same shape; null: all are set

  /// Is every element of a tile of this rank in bounds?
  static Bounds whole(int64_t rank) { return {Box(static_cast<size_t>(rank))}; }
  bool isWhole() const;
  bool hasBox() const;
};
using BoundsOf = llvm::function_ref<Bounds(mlir::Value)>;

/// Are both built by the same operations from the same values?
bool sameExpression(mlir::Value, mlir::Value, int depth = 10);
bool sameInterval(const std::optional<Interval> &, const std::optional<Interval> &);
bool sameBox(const Box &, const Box &);
bool sameBounds(const Bounds &, const Bounds &);

/// Returns the bounds of the elements that are in bounds of both.
std::optional<Interval> intersect(mlir::OpBuilder &, mlir::Location, const std::optional<Interval> &,
                                  const std::optional<Interval> &);
Bounds intersect(mlir::OpBuilder &, mlir::Location, const Bounds &, const Bounds &);

/// Returns the ends of every axis of a tile of this shape; a whole axis has 0 and its extent.
void appendEnds(mlir::OpBuilder &, mlir::Location, const Box &, llvm::ArrayRef<int64_t> shape,
                llvm::SmallVectorImpl<mlir::Value> &lower, llvm::SmallVectorImpl<mlir::Value> &upper);

/// Returns `tile` with `fill`, a scalar, in place of the elements outside the box.
mlir::Value maskBox(mlir::OpBuilder &, mlir::Location, mlir::Value tile, const Box &, mlir::Value fill);

// TileFlags.cpp

/// Is every element whose flag is set in `x` set in `y`? False also if it is not known. Null flags are all
/// set.
bool impliesFlags(mlir::Value x, mlir::Value y);
/// Returns flags that are set where both are; null if all are.
mlir::Value intersectFlags(mlir::OpBuilder &, mlir::Location, mlir::Value x, mlir::Value y);

/// Returns those of the flags that are combined by `and` which both have; null if there are none.
mlir::Value commonFlags(mlir::OpBuilder &, mlir::Location, mlir::Value x, mlir::Value y);

/// Returns the flags of whole lines along the axis: a tile without it, or null if all are set. Flags that
/// vary along the axis mask no whole line.
mlir::Value flagsOfLines(mlir::OpBuilder &, mlir::Location, mlir::Value flags, unsigned axis);
/// Do the flags mask only whole lines along the axis?
bool maskWholeLines(mlir::OpBuilder &, mlir::Location, mlir::Value flags, unsigned axis);
/// Returns the flags of whole hyperplanes: a tile of rank 1 with one flag for each position along the axis.
mlir::Value flagsAlong(mlir::OpBuilder &, mlir::Location, mlir::Value flags, unsigned axis);
/// Are the flags the conjunction of those of whole hyperplanes along each axis? False also if it is not
/// known.
bool areOfHyperplanes(mlir::OpBuilder &, mlir::Location, mlir::Value flags);
/// Returns flags along an axis as those of a tile of this shape.
mlir::Value spreadFlags(mlir::OpBuilder &, mlir::Location, mlir::Value flags, unsigned axis,
                        llvm::ArrayRef<int64_t> shape);

/// Returns the bounds as flags of a tile of this shape.
mlir::Value flagsOf(mlir::OpBuilder &, mlir::Location, const Bounds &, llvm::ArrayRef<int64_t> shape);

} // namespace tessera::tile
