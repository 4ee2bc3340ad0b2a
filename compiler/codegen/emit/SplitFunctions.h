// Splits one module of LLVM dialect functions into several that can be compiled independently and in
// parallel.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace tessera::emit {

/// Distributes the functions of `module` over modules of about equal size, largest first. A function that
/// another part calls is declared there. An internal function gets hidden visibility and a name that contains
/// the first exported function's name, so that parts of several such modules link together. The number of
/// parts depends only on the module, never on the machine: a module of few operations, or one with
/// anything but functions and globals that one function uses alone, is not split. Consumes `module`.
/// With `keepsCallees` a module with internal functions is not split either: a GPU's code generator counts
/// the registers of a kernel's callees, which it must see.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>> splitFunctions(mlir::OwningOpRef<mlir::ModuleOp> module,
                                                              bool keepsCallees);

} // namespace tessera::emit
