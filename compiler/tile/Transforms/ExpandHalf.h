// f16 conversions for processors without an instruction for them.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera::tile {

/// tile-expand-half: replaces arith.extf of f16 to f32 or f64 and arith.truncf of f32 to f16, of scalars and
/// vectors, by integer arithmetic with the results of the hardware's conversions: signalling NaNs become
/// quiet, denormals and rounding to nearest even are IEEE 754's. Otherwise each would be a call of a
/// compiler's run-time library (x86-64-v2 has no F16C). Nothing else computes in f16: tile-legalize-numerics
/// has widened it.
std::unique_ptr<mlir::Pass> createExpandHalfPass();

} // namespace tessera::tile
