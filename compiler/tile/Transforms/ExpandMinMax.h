// Replaces arith.minimumf and arith.maximumf by compares, selects and bit operations.
//
// Both follow IEEE 754-2019: -0 is less than +0, and a NaN in either operand gives a NaN. Upstream's
// expansion (arith-expand) lets the order of the operands decide between zeros, and LLVM's own takes five to
// ten instructions where this takes three (minimum) or five (maximum) on x86.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera::tile {

/// tile-expand-min-max: for scalars and vectors of f32 and f64. Runs on any operation, before arith-expand.
std::unique_ptr<mlir::Pass> createExpandMinMaxPass();

} // namespace tessera::tile
