// Builds the index expressions of grid bounds and lane counts.
#include "compiler/frontend/program/LaunchExpr.h"
#include "compiler/graph/Import/Importer.h"

namespace tessera::graph {

using frontend::Expr;
using frontend::Op;

IndexExpr KernelImporter::indexExpr(const Expr &e) {
  auto valueOf = [&](const Expr &leaf) {
    return IndexExpr::symbol(leaf.op == Op::DimRef ? leaf.text : kernel_.params[leaf.param].name);
  };
  if (std::optional<IndexExpr> expr = frontend::launchExpr(e, valueOf)) return std::move(*expr);
  emitUnimplemented(
      e, "launch bounds of anything but dims, integer scalars, constants and + - * // % minimum maximum");
  return IndexExpr::constant(0);
}

} // namespace tessera::graph
