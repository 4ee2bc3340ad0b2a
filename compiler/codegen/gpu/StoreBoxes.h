// What copies and stores of boxes have in common.
#pragma once
#include "compiler/layout/BoxStore.h"
#include "compiler/tile/IR/TileDialect.h"

namespace tessera::gpu {

/// The axis of a tensor along which the rows of a tile with these extents are.
size_t rowAxisOf(llvm::ArrayRef<int64_t> extents);

/// The extents of a box of so many rows and columns of it.
llvm::SmallVector<int64_t> boxOf(llvm::ArrayRef<int64_t> extents, int64_t rows, int64_t columns);

/// How the warps store the tile.
layout::BoxStore planOf(tile::StoreBoxOp);

} // namespace tessera::gpu
