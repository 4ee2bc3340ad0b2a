// What a launch checks of a kernel's dims and integer scalars: the attribute `tile.checks` of schedule.kernel
// and tile.kernel, [{says = "K % 4 == 0", value = "-(K % 4)"}]. A launch is refused if a value is negative.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace tessera::tile {

inline constexpr llvm::StringLiteral kChecks = "tile.checks";

/// The checks of a kernel; null if it has none.
inline mlir::ArrayAttr checksOf(mlir::Operation *kernel) {
  return kernel->getAttrOfType<mlir::ArrayAttr>(kChecks);
}

} // namespace tessera::tile
