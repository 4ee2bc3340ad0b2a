// The implementations that an operation may have.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "core/library/GemmCall.h"
#include <optional>
#include <string>

namespace tessera::schedule {

inline constexpr llvm::StringLiteral kTile = "tile", kBlas = "blas";

/// Returns the call of a BLAS that computes `op`; nullopt, with the reason in `why`, if there is none.
/// Depends only on types.
std::optional<GemmCall> gemmCallOf(graph::MatmulOp op, std::string &why);

} // namespace tessera::schedule
