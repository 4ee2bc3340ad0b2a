// Rules out implementations on a target.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "compiler/schedule/IR/LibraryVariant.h"
#include <string>

namespace tessera::schedule {

/// Returns why code for `target` must not call libraries in a function of its numerics profile; "" if it may.
std::string whyNoLibrary(graph::FuncOp function, const codegen::Target &target);

/// Returns the call's dims, in its order, as expressions over the function's: [B,] M, K, N.
llvm::SmallVector<mlir::Attribute> gemmDims(const GemmCall &call, graph::MatmulOp op);

} // namespace tessera::schedule
