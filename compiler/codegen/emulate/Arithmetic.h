// Arithmetic of GPUs as operations that every host has.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera::emulate {

/// Rounds f32, or a vector of it, to the nearest bf16. A NaN stays one.
mlir::Value roundToBf16(mlir::ImplicitLocOpBuilder &, mlir::Value f32);

/// Approximates 1 / x, up or down by the bits of x, where a step of Newton's method corrects it: by as much
/// as lets x / s be within the bound of docs/numerics.md. A subnormal operand or result is a zero.
mlir::Value nearInverse(mlir::ImplicitLocOpBuilder &, mlir::Value x);

/// The minimum or maximum of two f32, or vectors of them, whose NaN is the one that NVIDIA's instructions
/// give.
mlir::Value extremeOf(mlir::ImplicitLocOpBuilder &, bool isMax, mlir::Value x, mlir::Value y);

} // namespace tessera::emulate
