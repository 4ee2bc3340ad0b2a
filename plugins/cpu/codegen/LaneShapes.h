// How the values of a lane program differ between the lanes of a vector: what is computed once, what is a
// position that grows from lane to lane, and what needs a vector. The classification is that of Karrenberg
// and Hack, "Whole-function vectorization" (CGO 2011): uniform, consecutive and varying values.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace tessera::cpu {

/// The values of a scalar in the lanes of a vector.
struct LaneShape {
  enum Kind {
    Uniform, // the same in all lanes
    Affine,  // lane k has the value of lane 0 plus k times a step, modulo the type's range
    Varying,
  };
  Kind kind = Uniform;
  /// Of an affine value: the step, if it is a constant; else it is the same for all lanes.
  std::optional<int64_t> step{};
  /// Of a varying value: it is computed from a position by clamping or wrapping, so that its lanes are
  /// consecutive in nearly all vectors.
  bool isNear = false;

  bool isConsecutive() const { return kind == Affine && step == 1; }
  bool operator==(const LaneShape &) const = default;
};

/// The shapes of all values in a loop over lanes. Values from outside are uniform.
class LaneShapes {
public:
  /// `lanes` is the loop with the attribute `tile.lanes`.
  explicit LaneShapes(mlir::scf::ForOp lanes);

  /// Can the lanes of a vector execute the loop's operations together? They cannot if a lane may wait for
  /// another one.
  bool canShareVector() const { return canShareVector_; }
  LaneShape of(mlir::Value) const;
  /// Do all lanes take the same number of iterations?
  bool isUniformLoop(mlir::Operation *loop) const { return !divergentLoops_.contains(loop); }
  /// Unsigned divisions and remainders of positions by numbers from outside of the loop. The loop is cut
  /// where a quotient changes: within a segment the quotient is uniform and the remainder is consecutive.
  llvm::ArrayRef<mlir::Operation *> divisions() const { return divisions_; }
  /// Operations that compute the positions that `divisions` divide, and these, in an order in which they can
  /// be executed at the start of a segment.
  llvm::ArrayRef<mlir::Operation *> positions() const { return positions_; }

private:
  void findDivisions();
  bool isPosition(mlir::Value v);
  void visit(mlir::Block &);
  void visit(mlir::Operation *);
  void visitFor(mlir::scf::ForOp);
  void visitWhile(mlir::scf::WhileOp);
  void visitIf(mlir::scf::IfOp);
  LaneShape shapeOf(mlir::Operation *) const;
  void set(mlir::ValueRange values, LaneShape shape);

  mlir::scf::ForOp loop_;
  bool canShareVector_ = true;
  llvm::DenseMap<mlir::Value, LaneShape> shapes_;
  llvm::SmallPtrSet<mlir::Operation *, 4> divergentLoops_;
  llvm::SmallVector<mlir::Operation *> divisions_, positions_;
};

} // namespace tessera::cpu
