// What a numerics profile asks for and code generation does not honour is refused, never ignored.
//
// A contraction that is not permitted needs no refusal: no code generator fuses of its own accord
// (codegen/emit tells LLVM so). The fma of a matrix product is the product's definition (D12).
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// Reports the first kernel or function of the module, at any level above Target IR, whose profile is unknown
/// or asks for what code for `backend` does not do.
mlir::LogicalResult checkProfiles(mlir::ModuleOp module, llvm::StringRef backend);

} // namespace tessera
