// The implementations an operation may have, and what rules one out.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "core/library/GemmCall.h"
#include <string>

namespace tessera::schedule {

inline constexpr llvm::StringLiteral kTile = "tile", kBlas = "blas";

/// The call of a BLAS that computes `op`; nullopt, with the reason in `why`, where none does. Looks at types
/// alone.
std::optional<GemmCall> gemmCallOf(graph::MatmulOp op, std::string &why);

/// Why code for `target` must not call libraries in a function of its numerics profile; "" if it may.
std::string whyNoLibrary(graph::FuncOp function, const codegen::Target &target);

/// The call's dims, in its order, as expressions over the function's: [B,] M, K, N.
llvm::SmallVector<std::string> gemmDims(const GemmCall &call, graph::MatmulOp op);

} // namespace tessera::schedule
