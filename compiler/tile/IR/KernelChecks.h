// What a launch checks of a kernel's dims and integer scalars: the attribute `tile.checks` of schedule.kernel
// and tile.kernel, [{says = "K % 4 == 0", value = "-(K % 4)"}]. A launch is refused if a value is negative.
#pragma once
#include "compiler/tile/IR/TileDialect.h"

namespace tessera::tile {

inline constexpr llvm::StringLiteral kChecks = "tile.checks";

/// The checks of a kernel; null if it has none.
inline mlir::ArrayAttr checksOf(mlir::Operation *kernel) {
  return kernel->getAttrOfType<mlir::ArrayAttr>(kChecks);
}

/// What is left of the grid's axes after whole clusters: "ceildiv(M, 64) % 2". A launch is refused unless all
/// are 0. None if the kernel has no clusters.
llvm::SmallVector<IndexExpr> restsOfClusters(KernelOp kernel);

} // namespace tessera::tile
