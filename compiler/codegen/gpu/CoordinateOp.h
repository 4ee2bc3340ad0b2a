// A coordinate of a thread, for vendors whose dialect has an operation per dim of it.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera::gpu {

/// The operation of `dim` (0 to 2) among X, Y and Z: an i32 in [0, bound).
template <typename X, typename Y, typename Z>
mlir::Value coordinateOp(mlir::ImplicitLocOpBuilder &b, unsigned dim, int64_t bound) {
  mlir::Type i32 = b.getI32Type();
  auto range = mlir::LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, bound);
  if (dim == 0) return X::create(b, i32, range);
  if (dim == 1) return Y::create(b, i32, range);
  return Z::create(b, i32, range);
}

} // namespace tessera::gpu
