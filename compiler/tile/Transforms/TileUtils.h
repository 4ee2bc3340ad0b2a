// Questions about tile values that several passes ask.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Operation.h"
#include <set>
#include <string>

namespace tessera::tile {

/// A tile value: a statically shaped tensor of rank >= 1.
inline bool isTile(mlir::Type t) { return mlir::isa<mlir::RankedTensorType>(t); }
inline bool isTile(mlir::Value v) { return isTile(v.getType()); }
inline mlir::RankedTensorType tileType(mlir::Value v) {
  return mlir::cast<mlir::RankedTensorType>(v.getType());
}

/// Computes each result element from the operand elements at the same index (scalars are uniform).
bool isElementwise(mlir::Operation *op);

/// Arithmetic that gives fp8, fp6 or fp4. Upstream folds its constants with APFloat, whose overflow is NaN or
/// infinity; in the language it saturates.
bool saturates(mlir::Operation *op);

/// Costs next to nothing to compute again: constants, iota, and shape-only views of other values.
bool isCheap(mlir::Operation *op);

/// Results never computed on the fly inside another op's loop: reductions, products, values of regions,
/// copies.
bool alwaysInMemory(mlir::Value v);

/// The operation reads this operand at other indices than its result's, or wants it contiguous: the operand
/// needs memory of its own.
bool needsMemoryOperand(mlir::OpOperand &use);

/// Adds lines to the kernel's `fallbacks`, each once.
void addFallbacks(KernelOp kernel, const std::set<std::string> &lines);

/// In memory of its own once `tile-fuse` has run.
bool inMemory(mlir::Value v);

} // namespace tessera::tile
