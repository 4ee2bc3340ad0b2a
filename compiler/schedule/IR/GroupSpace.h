// Decides which operations of a graph function may run as one kernel, and along which axes.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include <optional>
#include <string>

namespace tessera::schedule {

/// With more operations, a program's tiles no longer fit in the caches. A slice is not one of them: it is
/// read from where it is.
inline constexpr int64_t kMaxGroupOperations = 48;

/// The iteration space of a fusion group, and the axes of each value in it. Operations are added in program
/// order; one that does not fit is refused and changes nothing. Used to form groups, to verify them and to
/// emit their programs.
class GroupSpace {
public:
  using Tensor = graph::TensorType;
  /// For each axis of a tensor, the axis of the space that it runs along, or kFixed if its extent is 1.
  using Axes = mlir::SmallVector<int64_t, 4>;
  static constexpr int64_t kFixed = -1;
  /// The axis of a tensor that has an element for each part of the reduced axis.
  static constexpr int64_t kParts = -2;

  /// The rule that keeps an operation out of the group, or none.
  using Refusal = std::optional<std::string>;
  [[nodiscard]] Refusal add(mlir::Operation *op);

  GroupKind kind() const { return kind_; }
  /// Null until an operation has been added.
  Tensor space() const { return space_ ? space_ : uniform_; }
  std::optional<int64_t> reducedAxis() const { return reduced_; }
  /// The number of elements of the reduced axis that a program reduces or scans; none: all of them.
  std::optional<int64_t> parts() const { return parts_; }
  /// Is the value computed in the group?
  bool holds(mlir::Value v) const { return axes_.count(v) != 0; }
  const Axes &axesOf(mlir::Value v) const { return axes_.find(v)->second; }
  /// Returns the axes of the tensor `operand`, as the operation of the group that reads it sees them.
  Axes axesOf(mlir::OpOperand &operand) const;
  /// Are all reductions searches for positions?
  bool finds() const { return reduced_ && !combines_; }
  /// Is it a scan whose result does not depend on the order?
  bool scansExactly() const { return scansExactly_; }
  /// Is a tensor of elements of fewer than 32 bits read?
  bool readsNarrow() const;
  /// Does an operation after a reduction read the elements that were reduced, as a softmax does?
  bool readsAgain() const;
  /// Does a map or a concatenation read each row of its tensors from one element to the next? Then nothing
  /// is kept in memory for a tile, however long its rows are.
  bool readsRows() const;
  /// Is a tensor read with another last axis than the space's?
  bool transposes() const { return transposes_; }
  /// The element type of the product's left operand; null if the group has no product.
  mlir::Type productType() const { return productType_; }
  /// Returns the axes that a program's tile spans, rows and columns (kFixed: none): the last two, of those of
  /// a map that are longer than 1. If a map reads a transposed tensor, the rows are the axis along which that
  /// tensor is contiguous.
  std::pair<int64_t, int64_t> tileAxes() const;
  /// Does it join tensors along a last axis of which each has one element? Then they alternate in memory, and
  /// a tile spans the axis before it.
  bool interleaves() const { return interleaves_; }
  static bool interleavesParts(graph::ConcatOp op);
  /// Does the value change along the reduced axis?
  bool varies(mlir::Value v) const;

private:
  bool isUniform(mlir::Operation *op) const;
  bool isTrailing(Tensor type) const;
  Refusal addFirst(mlir::Operation *op);
  Refusal addElementwise(mlir::Operation *op);
  Refusal addView(mlir::Operation *op);
  Refusal addConcat(graph::ConcatOp op);
  Refusal addReduce(graph::ReduceOp op);
  Refusal addScan(graph::ScanOp op);
  Refusal addRead(mlir::Operation *op);
  Refusal align(mlir::Operation *op, const Axes &axes) const;
  static Axes identity(Tensor type);
  void noteView(mlir::Operation *op);

  GroupKind kind_ = GroupKind::Map;
  Tensor space_, uniform_;
  mlir::Type productType_;
  std::optional<int64_t> reduced_, parts_;
  std::optional<int64_t> contiguous_; // the axis that the first transposed tensor has last
  bool transposes_ = false, interleaves_ = false, combines_ = false, scansExactly_ = false;
  bool holdsOnlySlices_ = true; // of inputs: a concat may join them
  bool holdsOnlyValues_ = true; // elementwise operations and slices: a concat may interleave them
  llvm::DenseMap<mlir::Value, Axes> axes_;
};

/// Is it a single value computed only from dims, scalars and constants, which any group may compute for
/// itself? `isUniform` answers for the operands that are tensors.
bool isUniformOp(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isUniform);

/// Is each element of the result computed from the operands' elements at the same position?
bool isElementwiseOp(mlir::Operation *op);

} // namespace tessera::schedule
