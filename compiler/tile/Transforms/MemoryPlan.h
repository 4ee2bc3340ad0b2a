// The memory that a kernel needs (tile-plan-memory).
#pragma once
#include "compiler/tile/IR/TileDialect.h"

namespace tessera::tile {

/// Bytes of scratch that the kernel needs if the shared buffers and tiles of `without` need none.
int64_t scratchBytesWithout(KernelOp kernel, llvm::ArrayRef<mlir::Operation *> without);

} // namespace tessera::tile
