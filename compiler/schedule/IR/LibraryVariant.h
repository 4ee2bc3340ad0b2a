// The implementations an operation may have.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "core/library/GemmCall.h"
#include <optional>
#include <string>

namespace tessera::schedule {

inline constexpr llvm::StringLiteral kTile = "tile", kBlas = "blas";

/// The call of a BLAS that computes `op`; nullopt, with the reason in `why`, where none does. Looks at types
/// alone.
std::optional<GemmCall> gemmCallOf(graph::MatmulOp op, std::string &why);

} // namespace tessera::schedule
