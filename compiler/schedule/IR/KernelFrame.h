// The frame of a kernel: its signature and the construct it runs in parallel.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/IR/Builders.h"

namespace tessera::schedule {

/// {name = value, ...}
mlir::DictionaryAttr describeInts(mlir::Builder &, llvm::ArrayRef<std::pair<std::string, int64_t>> entries);

/// Writes a `schedule.kernel` from the outside in: the parameters, the grid or the lanes, then the caller
/// emits the body at the builder, and `close` ends it.
class KernelFrame {
public:
  using Value = mlir::Value;

  /// Creates the kernel at the place of the builder, which outlives this one.
  KernelFrame(mlir::OpBuilder &, mlir::Location, llvm::StringRef name, llvm::StringRef numerics);

  KernelOp kernel() const { return kernel_; }

  /// In the order of the arguments (decision D15): tensors, results, scalars, dims.
  Value addParam(tile::ParamAttr, mlir::Type, mlir::Location);
  Value addDim(llvm::StringRef name);

  /// Bounds are expressions of the kernel's dims and integer scalars.
  struct Axis {
    std::string from, to, step, name;
    mlir::Location loc;
    bool isBatch = false;
  };
  /// The signature is complete; the builder moves into the construct. Returns the variables (index).
  llvm::SmallVector<Value> openGrid(llvm::ArrayRef<Axis>);
  Value openLanes(llvm::StringRef count);

  /// The body is complete.
  void close();

private:
  void endSignature();

  mlir::OpBuilder &b_;
  KernelOp kernel_;
  llvm::SmallVector<mlir::Attribute> params_;
  mlir::Block *construct_ = nullptr;
};

} // namespace tessera::schedule
