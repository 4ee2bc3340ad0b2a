// Matrix instructions of NVIDIA's GPUs: mma of single warps, wgmma of warpgroups, and tcgen05.
#pragma once
#include "compiler/codegen/gpu/Vendor.h"

namespace tessera::ptx {

class MatrixVendor : public gpu::Vendor {
public:
  llvm::SmallVector<mlir::Value> emitProduct(mlir::ImplicitLocOpBuilder &b, const layout::Fragment &f,
                                             DType dtype, mlir::Value x, mlir::Value y,
                                             mlir::ValueRange c) const override;
  mlir::Value emitDescriptor(mlir::ImplicitLocOpBuilder &b, const layout::Fragment &f, mlir::Value address,
                             int64_t panelBytes, int64_t panelStep, int64_t groupBytes) const override;
  mlir::Value emitSharedProduct(mlir::ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                                SharedMatrix x, SharedMatrix y, mlir::Value sums, bool adds) const override;
  mlir::Value emitHeldProduct(mlir::ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                              mlir::Value x, SharedMatrix y, mlir::Value sums, bool adds) const override;
  void emitProductFence(mlir::ImplicitLocOpBuilder &b) const override;
  void emitProductCommit(mlir::ImplicitLocOpBuilder &b) const override;
  void emitProductWait(mlir::ImplicitLocOpBuilder &b, int64_t pending) const override;
  void emitTensorAlloc(mlir::ImplicitLocOpBuilder &b, mlir::Value place, int64_t columns) const override;
  void emitTensorFree(mlir::ImplicitLocOpBuilder &b, mlir::Value memory, int64_t columns) const override;
  void emitTensorProduct(mlir::ImplicitLocOpBuilder &b, const layout::Fragment &f, DType dtype,
                         SharedMatrix x, SharedMatrix y, mlir::Value sums, mlir::Value adds) const override;
  void emitTensorCommit(mlir::ImplicitLocOpBuilder &b, mlir::Value word) const override;
  llvm::SmallVector<mlir::Value> emitTensorLoad(mlir::ImplicitLocOpBuilder &b, const layout::Fragment &f,
                                                mlir::Value from, int64_t count) const override;
  void emitTensorLoadWait(mlir::ImplicitLocOpBuilder &b) const override;
  void emitTensorFence(mlir::ImplicitLocOpBuilder &b, bool isAfterMeeting) const override;
};

} // namespace tessera::ptx
