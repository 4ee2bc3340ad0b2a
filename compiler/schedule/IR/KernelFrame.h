// The frame of a kernel: its signature and its parallel construct.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/IR/Builders.h"

namespace tessera::schedule {

/// {name = value, ...}
mlir::DictionaryAttr describeInts(mlir::Builder &, llvm::ArrayRef<std::pair<std::string, int64_t>> entries);

/// Builds a `schedule.kernel` from the outside in: the parameters, then the grid or the lanes. The caller
/// then emits the body with the builder, and `close` completes the kernel.
class KernelFrame {
public:
  using Value = mlir::Value;

  /// Creates the kernel at the builder's insertion point. The builder must outlive this object.
  KernelFrame(mlir::OpBuilder &, mlir::Location, llvm::StringRef name, llvm::StringRef numerics);

  KernelOp kernel() const { return kernel_; }

  /// Adds an argument. The order is that of decision D15: tensors, results, scalars, dims.
  Value addParam(tile::ParamAttr, mlir::Type, mlir::Location);
  Value addDim(llvm::StringRef name);

  /// The bounds are expressions of the kernel's dims and integer scalars.
  struct Axis {
    IndexExpr from, to, step;
    std::string name;
    mlir::Location loc;
    bool isBatch = false;
  };
  /// Completes the signature, moves the builder into the construct and returns its variables (index).
  llvm::SmallVector<Value> openGrid(llvm::ArrayRef<Axis>);
  Value openLanes(const IndexExpr &count);

  /// Completes the body.
  void close();

private:
  void endSignature();

  mlir::OpBuilder &b_;
  KernelOp kernel_;
  llvm::SmallVector<mlir::Attribute> params_;
  mlir::Block *construct_ = nullptr;
};

} // namespace tessera::schedule
