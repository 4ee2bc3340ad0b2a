// Arithmetic of GPUs as operations that every host has.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera::emulate {

/// Rounds f32, or a vector of it, to the nearest bf16. A NaN stays one.
mlir::Value roundToBf16(mlir::ImplicitLocOpBuilder &, mlir::Value f32);

/// Approximates 1 / x: often the last bit is wrong, but nowhere does a step of Newton's method fail to
/// correct it, if 1 / x is a normal number.
mlir::Value nearInverse(mlir::ImplicitLocOpBuilder &, mlir::Value x);

} // namespace tessera::emulate
