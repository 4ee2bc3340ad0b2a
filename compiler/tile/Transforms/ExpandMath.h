// Replaces the elementary functions by fixed sequences of arith operations and math.fma (numerics/functions).
//
// Every backend expands the same sequence in every profile, so results do not depend on a vendor's library. A
// code generator that contracts or reassociates across the whole module breaks them (flags on the user's own
// operations do not).
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera::tile {

/// tile-expand-math: replaces the functions of the tile dialect (isFunction) and math.ipowi on scalars and
/// vectors. f16 and bf16 are computed in f32. math.sqrt, fma, floor and absf stay: they are instructions.
/// Runs on any operation, after tiles have become vectors and before scf is lowered (sin and cos of f64 hold
/// an scf.if for huge arguments, ipowi a loop).
std::unique_ptr<mlir::Pass> createExpandMathPass();

} // namespace tessera::tile
