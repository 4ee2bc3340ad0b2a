// The implementations an operation may have, and what rules one out.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "core/library/GemmCall.h"
#include <string>

namespace tessera::schedule {

inline constexpr llvm::StringLiteral kTile = "tile", kBlas = "blas";

/// The call of a BLAS that computes `op`; nullopt, with the reason in `why`, where none does. Looks at types
/// alone.
std::optional<GemmCall> gemmCallOf(graph::MatmulOp op, std::string &why);

/// What keeps a function of its numerics profile, on this backend, from calling libraries; "" when nothing
/// does.
std::string whyNoLibrary(graph::FuncOp function, llvm::StringRef backend);

/// The call's dims, in its order, as expressions over the function's: [B,] M, K, N.
llvm::SmallVector<std::string> gemmDims(const GemmCall &call, graph::MatmulOp op);

} // namespace tessera::schedule
