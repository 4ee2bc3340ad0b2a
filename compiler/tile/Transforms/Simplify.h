// Folding while masks are implicit.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace tessera::tile {

/// Folds every operation whose result no mask depends on. For drivers whose own folding is off, because it
/// would remove operands that are out of bounds.
void populateMaskKeepingFolds(mlir::RewritePatternSet &patterns);

} // namespace tessera::tile
