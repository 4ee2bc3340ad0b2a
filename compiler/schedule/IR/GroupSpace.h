// Which operations of a graph function may run as one kernel, and along which axes.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include <optional>
#include <string>

namespace tessera::schedule {

/// The space of a fusion group and where each value lies in it. Operations are added in program order; one
/// that would not fit is refused and changes nothing. Used to form groups, to verify them and to write their
/// programs.
class GroupSpace {
public:
  using Tensor = graph::TensorType;
  /// For each axis of a tensor the axis of the space it runs along, or kFixed where its extent is 1.
  using Axes = mlir::SmallVector<int64_t, 4>;
  static constexpr int64_t kFixed = -1;

  /// False, with the broken rule in `why`, when `op` cannot be part of the group.
  [[nodiscard]] bool add(mlir::Operation *op, std::string &why);

  GroupKind kind() const { return kind_; }
  /// Null while nothing was added.
  Tensor space() const { return space_ ? space_ : uniform_; }
  std::optional<int64_t> reducedAxis() const { return reduced_; }
  /// Is the value computed in the group?
  bool holds(mlir::Value v) const { return axes_.count(v) != 0; }
  const Axes &axesOf(mlir::Value v) const { return axes_.find(v)->second; }
  /// Where the tensor `operand` lies, as seen by the operation of the group that reads it.
  Axes axesOf(mlir::OpOperand &operand) const;
  /// Is a tensor read with another last axis than the space's?
  bool transposes() const { return transposes_; }
  /// Does the value change along the reduced axis?
  bool varies(mlir::Value v) const;

private:
  bool isUniform(mlir::Operation *op) const;
  bool isTrailing(Tensor type) const;
  bool addFirst(mlir::Operation *op, std::string &why);
  bool addElementwise(mlir::Operation *op, std::string &why);
  bool addView(mlir::Operation *op, std::string &why);
  bool addReduce(graph::ReduceOp op, std::string &why);
  bool align(mlir::Operation *op, const Axes &axes, std::string &why) const;
  static Axes identity(Tensor type);
  void noteView(mlir::Operation *op);

  GroupKind kind_ = GroupKind::Map;
  Tensor space_, uniform_;
  std::optional<int64_t> reduced_;
  bool slices_ = false; // a slice's tiles reach past its end, which a reduction would see
  bool transposes_ = false;
  llvm::DenseMap<mlir::Value, Axes> axes_;
};

/// A single value made of dims, scalars and constants only: any group may compute it for itself. `isUniform`
/// tells about operands that are tensors.
bool isUniformOp(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isUniform);

/// Computes each element of the result from the operands' elements at its place.
bool isElementwiseOp(mlir::Operation *op);

} // namespace tessera::schedule
