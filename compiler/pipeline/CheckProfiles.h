// Refuses a numerics profile that asks for what code generation does not do.
//
// A contraction that is not permitted needs no check: no code generator contracts on its own (codegen/emit
// disables it in LLVM). The fma of a matrix product is part of the product's definition (D12).
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// Reports the first kernel or function of the module, at any level above Target IR, whose profile is unknown
/// or asks for what code for `backend` does not do. `fixesReductions`: it follows the orders of
/// fixed_reductions.
mlir::LogicalResult checkProfiles(mlir::ModuleOp module, llvm::StringRef backend, bool fixesReductions);

} // namespace tessera
