// The passes of Tile IR. Passes.td describes each.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/tile/Transforms/Passes.h.inc"

/// An attribute of arith.divf that tile-expand-math sets: it is 1 / x, and |x| is in [1, 2^100), so that a
/// target may leave out what it would do for other operands.
inline constexpr llvm::StringLiteral kIsInverse = "is_inverse";

/// An attribute of a function that a target lowers from a kernel: its profile permits `approximate`, and the
/// target has instructions for it. tile-expand-math then makes operations with the flag `afn` of the math
/// dialect (exp2, log2, rsqrt, sqrt, tanh) and of arith.divf (1 / x).
inline constexpr llvm::StringLiteral kApproximates = "approximates";

} // namespace tessera
