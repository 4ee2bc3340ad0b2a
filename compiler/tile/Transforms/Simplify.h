// Folding before masks are explicit.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace tessera::tile {

/// Folds whatever an operation on tiles does not depend on for its mask. For drivers whose own folding is
/// off: it would drop operands that are out of bounds.
void populateMaskKeepingFolds(mlir::RewritePatternSet &patterns);

} // namespace tessera::tile
