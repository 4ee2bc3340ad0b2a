// Bodies of a graph function for some of its calls, as attributes of graph.func:
//
//   graph.func @f(...)
//   graph.func @f.v0(...) attributes {schedule.variant_of = @f, schedule.when = ["N == 1000"], ...}
//
// A call of @f for which all conditions hold runs @f.v0. The conditions compare index expressions over dims
// and integer scalars. Both bodies have the same params.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"

namespace tessera::schedule {

inline constexpr llvm::StringLiteral kVariantOf = "schedule.variant_of";
inline constexpr llvm::StringLiteral kWhen = "schedule.when";

/// The function that a variant is another body of; null if the function is no variant.
inline mlir::FlatSymbolRefAttr variantOf(graph::FuncOp function) {
  return function->getAttrOfType<mlir::FlatSymbolRefAttr>(kVariantOf);
}

} // namespace tessera::schedule
