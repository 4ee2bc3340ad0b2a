// What a launch evaluates, as index expressions: the bounds of grids, lane counts, conditions of ts.assume.
#pragma once
#include "compiler/frontend/program/Program.h"
#include "core/metadata/IndexExpr.h"
#include <functional>
#include <optional>

namespace tessera::frontend {

/// Returns an integer expression of dims, integer parameters and constants as an index expression, which has
/// the same value: arithmetic narrower than 64 bits wraps. `valueOf` returns what a DimRef or a ParamRef
/// stands for. Returns nothing if the expression has another operation.
std::optional<IndexExpr> launchExpr(const Expr &, const std::function<IndexExpr(const Expr &)> &valueOf);

} // namespace tessera::frontend
