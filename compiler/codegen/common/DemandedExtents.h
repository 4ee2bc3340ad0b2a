// Which elements of a kernel's tile values are observed. A program at a tensor's edge computes tiles of
// static shape, and its stores keep only the part inside the tensor.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::target {

/// Walks a kernel once, backwards from its stores. The demand on a value is a set of ends per axis: elements
/// past the largest end reach no store, reduction or other effect, so that a lowering need not compute them.
class DemandedExtents {
public:
  /// An end of a window along `dim` of a tensor: size(view, dim) - start, or a smaller bound of a mask or
  /// store.
  struct End {
    mlir::Value view, start; // null: only a bound
    unsigned dim = 0;
    mlir::Attribute size; // equal for equal extents
    mlir::Value bound;    // null: none
    bool operator==(const End &o) const { return start == o.start && size == o.size && bound == o.bound; }
  };
  struct Axis {
    bool whole = false; // every element is observed
    llvm::SmallVector<End, 1> ends;
  };
  using Demand = llvm::SmallVector<Axis, 2>;

  explicit DemandedExtents(tile::KernelOp);

  /// One entry per axis of `tile`; empty if nothing observes it.
  llvm::ArrayRef<Axis> of(mlir::Value tile) const;

private:
  void visit(mlir::Block &);
  void visit(mlir::Operation *);
  void visitLoop(mlir::Operation *loop);
  void visitWrite(tile::BufferWriteOp write);
  /// Records that `v` is observed as far as `demand`.
  void demand(mlir::Value v, const Demand &demand);
  void demandWhole(mlir::Value v);
  static void limit(Demand &, mlir::OperandRange upper, mlir::RankedTensorType);

  tile::KernelOp kernel_;
  llvm::DenseMap<mlir::Value, Demand> demands_;
  bool changed_ = false;
};

} // namespace tessera::target
