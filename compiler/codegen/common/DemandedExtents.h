// Which elements of a kernel's tile values anything observes: a program at a tensor's edge computes tiles of
// static shape, of which its stores keep the part inside the tensor.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::target {

/// Walks a kernel once, backwards from its stores. A value's demand is a set of ends per axis: elements past
/// the largest of them reach no store, reduction or other effect, so that a lowering may leave them out.
class DemandedExtents {
public:
  /// Where a tensor ends along `dim` of a window that begins at `start`, size(view, dim) - start, or before
  /// that the bound of a mask or store.
  struct End {
    mlir::Value view, start; // null: a bound alone
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

  /// One entry per axis of `tile`; empty when nothing observes it.
  llvm::ArrayRef<Axis> of(mlir::Value tile) const;

private:
  void visit(mlir::Block &);
  void visit(mlir::Operation *);
  void visitLoop(mlir::Operation *loop);
  /// `v` is observed as far as `demand`, too.
  void demand(mlir::Value v, const Demand &demand);
  void demandWhole(mlir::Value v);
  static void limit(Demand &, mlir::OperandRange upper, mlir::RankedTensorType);

  tile::KernelOp kernel_;
  llvm::DenseMap<mlir::Value, Demand> demands_;
  bool changed_ = false;
};

} // namespace tessera::target
