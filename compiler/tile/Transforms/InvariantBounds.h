// Bounds that the tiles inside a loop have in every iteration, for the pass tile-legalize-bounds.
#pragma once
#include "compiler/tile/Transforms/BoundsLegalizer.h"

namespace tessera::tile {

/// Computes bounds inside a loop before the loop is legalized: the same that legalizing its body gives
/// (boundsOfResult), without those that are not known before the loop. Moves what they are computed from
/// before the loop.
class InvariantBounds {
public:
  /// `all` has the bounds of what is outside the loop. `visit` legalizes the operation of a tile that was
  /// moved before it, and returns the tile that is in its place.
  InvariantBounds(mlir::Operation *loop, const llvm::DenseMap<mlir::Value, Bounds> &all,
                  llvm::function_ref<mlir::Value(mlir::Value)> visit)
      : loop_(loop), bounds_(all), visit_(visit) {}
  InvariantBounds(const InvariantBounds &) = delete;
  InvariantBounds &operator=(const InvariantBounds &) = delete;
  /// Erases what was computed and not moved.
  ~InvariantBounds();

  /// Returns what the products of an iteration have in common, if it adds nothing but products to the value.
  std::optional<Lines> ofSum(const Carried &);
  /// The same if it also changes the value elementwise.
  std::optional<Lines> ofScaledSum(const Carried &);

private:
  using Value = mlir::Value;
  using Operation = mlir::Operation;

  struct Listener : mlir::OpBuilder::Listener {
    llvm::SmallVector<Operation *> created;
    void notifyOperationInserted(Operation *op, mlir::OpBuilder::InsertPoint moved) override {
      if (!moved.isSet()) created.push_back(op);
    }
  };

  mlir::OpBuilder builder();
  Bounds of(Value);
  Bounds find(Operation *, Value);
  Bounds ofIf(mlir::scf::IfOp, unsigned n);

  std::optional<Sum> sumOf(Value);
  std::optional<Sum> lastOfSum(Value);
  Lines linesOfProduct(MmaOp);
  bool isProductOnto(Value, llvm::ArrayRef<Value> names);
  bool isProduct(Value);
  bool reaches(Value, llvm::ArrayRef<Value> names, llvm::DenseMap<Value, bool> &known);

  Bounds common(mlir::OpBuilder &, const Bounds &, const Bounds &);
  bool isMovable(Value);
  bool isMovable(const Interval &i) { return isMovable(i.lo) && isMovable(i.hi); }
  Value movableFlags(mlir::OpBuilder &, Value flags);
  Bounds movable(mlir::OpBuilder &, Bounds);
  Value move(Value);
  Bounds moved(mlir::OpBuilder &, Bounds);
  Lines moved(mlir::OpBuilder &, Lines);
  bool writesTensors();

  Operation *loop_;
  const llvm::DenseMap<Value, Bounds> &bounds_;
  llvm::function_ref<Value(Value)> visit_;
  Listener listener_;
  std::optional<bool> writesTensors_;
  llvm::DenseMap<Value, Bounds> known_;
  llvm::DenseMap<Value, std::optional<Sum>> sums_;
  llvm::DenseMap<Value, bool> movable_, products_;
};

} // namespace tessera::tile
