// One module of LLVM dialect functions -> several that compile on their own, at the same time.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace tessera::emit {

/// Deals the functions of `module` out to modules of about equal size, largest first. What a function of
/// another part calls is declared there; a function that was internal gets hidden visibility and a name that
/// contains the first exported one's, so that parts of several such modules link together. How many parts
/// there are depends on the module alone, never on the machine: one of few operations, or one that holds more
/// than functions, stays whole. `module` is used up.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>> splitFunctions(mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace tessera::emit
