// Replaces math.fma for processors without the instruction (numerics/functions/Fma.h), so that no library is
// called.
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera::cpu {

/// cpu-expand-fma: f32 where it is, f64 by a call to a private function of the module for each vector type.
/// Runs on the module after functions have become sequences.
std::unique_ptr<mlir::Pass> createExpandFmaPass();

} // namespace tessera::cpu
