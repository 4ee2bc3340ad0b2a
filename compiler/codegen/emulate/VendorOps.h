// Which calls of the emulator stand for which operations of a vendor.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera::emulate {

/// Emits a call `name(operands)` before the operation that is being rewritten and returns its result, or null
/// if `result` is null. A `pure` function returns the same value whenever one lane calls it.
using EmitCall = llvm::function_ref<mlir::Value(llvm::StringRef name, mlir::Type result,
                                                mlir::ValueRange operands, bool pure)>;

/// The number (i32) of a product whose sums have to be awaited.
inline constexpr llvm::StringLiteral kProductNumber = "tsr_emu.product";

/// Rewrites an operation of a vendor, or a call of a vendor's built-in function, and erases it. `site` is its
/// number as an i32. Returns false, and changes nothing, if the emulator does not know it.
bool rewriteVendorOp(mlir::ImplicitLocOpBuilder &, mlir::Operation *, EmitCall,
                     llvm::function_ref<mlir::Value()> site);

} // namespace tessera::emulate
