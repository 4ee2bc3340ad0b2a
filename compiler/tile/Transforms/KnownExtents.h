// What loops and the conditions of a kernel (`checks`, from ts.assume) say about the elements and windows of
// its tensors: an index that a loop takes through a dim is inside, a tensor whose extent is a multiple of the
// loop's step has no ragged end.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"

namespace tessera::tile {

/// Is [start, start + extent) known to be inside dim `dim` of a tensor wherever it is accessed? It is if the
/// start walks the dim, or a part of it, in steps of at least `extent` that divide the part, and a part that
/// begins at another dim or at a parameter is inside for all launches.
bool isKnownInside(mlir::Value view, unsigned dim, mlir::Value start, int64_t extent);

/// Sets `in_bounds` of the loads, stores and copies of tiles of which every axis is known to be inside.
void markKnownInside(KernelOp);

/// Sets `in_bounds` of the loads and stores of elements whose indices loops, and divisions of a loop's
/// variable, keep inside. The promise holds where the operation is, and not in another iteration.
void markElementsInside(KernelOp);

} // namespace tessera::tile
