// Values that the kernel of a group cannot compute from the dims of its tensors.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::schedule {

/// Returns the `extents` that are no dims, and the `distances` (starts of slices, borders) that are no
/// expressions of dims, of a group's inputs and results: the group has to have a graph.dim of each as an
/// input.
llvm::SmallVector<tile::IndexExprAttr> missingExpressions(mlir::ValueRange inputs, mlir::TypeRange results,
                                                          llvm::ArrayRef<mlir::Attribute> extents,
                                                          llvm::ArrayRef<mlir::Attribute> distances);

} // namespace tessera::schedule
