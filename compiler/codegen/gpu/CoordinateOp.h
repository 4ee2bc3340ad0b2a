// The coordinates of a thread, for vendors whose dialect has a separate operation for each coordinate and
// dimension.
#pragma once
#include "compiler/codegen/gpu/Vendor.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera::gpu {

/// The operations that return one coordinate along x, y and z.
template <typename X, typename Y, typename Z> struct CoordinateOps {
  /// The coordinate along `dim` (0 to 2): an i32 in [0, bound).
  static mlir::Value emit(mlir::ImplicitLocOpBuilder &b, unsigned dim, int64_t bound) {
    mlir::Type i32 = b.getI32Type();
    auto range = mlir::LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, bound);
    if (dim == 0) return X::create(b, i32, range);
    if (dim == 1) return Y::create(b, i32, range);
    return Z::create(b, i32, range);
  }
};

/// Implements Vendor::emitId with three emitters that have CoordinateOps::emit.
template <typename Thread, typename Block, typename GridSize>
mlir::Value emitIdBy(mlir::ImplicitLocOpBuilder &b, Id id, unsigned dim, int64_t bound) {
  switch (id) {
  case Id::Thread:
    return Thread::emit(b, dim, bound);
  case Id::Block:
    return Block::emit(b, dim, bound);
  case Id::GridSize:
    return GridSize::emit(b, dim, bound);
  }
  llvm_unreachable("all coordinates are listed");
}

} // namespace tessera::gpu
