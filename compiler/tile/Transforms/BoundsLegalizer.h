// Elements of a kernel's tiles that are out of bounds, for the pass tile-legalize-bounds.
#pragma once
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera::tile {

mlir::Value indexConstant(mlir::OpBuilder &, mlir::Location, int64_t);

// BoundsOfReads.cpp

/// `only`: of one axis of the tile, the others are whole.
Box loadBox(mlir::OpBuilder &, LoadOp, std::optional<unsigned> only = {});

/// A shared buffer holds what its last whole copy brought. A part of it has its share of that box, and ends
/// where the buffer does.
Box bufferBox(mlir::OpBuilder &, BufferReadOp);

/// The one copy that reaches `reader`, looking back and outwards; null when there is none, or when a loop
/// around the reader fills the buffer again.
CpAsyncOp reachingCopy(mlir::Value buffer, mlir::Operation *reader);
Box copyBox(mlir::OpBuilder &, CpAsyncOp, std::optional<unsigned> only = {});
/// The box of the reaching copy; whole when there is none.
Box copiedBox(mlir::OpBuilder &, mlir::Value buffer, mlir::Operation *reader);

/// The bounds of one kernel's tiles. Lives for one run of the pass.
class BoundsLegalizer {
public:
  /// In program order; the branches of an if before its results, what a loop starts with before its body.
  void visit(mlir::Block &);

private:
  using OpBuilder = mlir::OpBuilder;
  using Location = mlir::Location;
  using Value = mlir::Value;

  // LegalizeBounds.cpp: how bounds pass through an operation, and where what is outside would be seen.
  void visit(mlir::Operation *);
  /// Of a tile, as far as it is known: whole otherwise.
  Bounds bounds(Value);
  Bounds boundsOfElementwise(OpBuilder &, mlir::Operation *);
  Bounds boundsOfChoice(OpBuilder &, mlir::arith::SelectOp);
  /// `v` with the element in the place of those that are out of bounds.
  Value filled(OpBuilder &, Location, Value v, Value element, llvm::DenseMap<Value, Value> &done);
  void fill(mlir::OpOperand &, mlir::TypedAttr with);
  void legalizeArgReduce(ArgReduceOp);
  Box factorBox(OpBuilder &, MmaOp, Value factor);
  void limitMma(MmaOp, Box x, Box y);
  void legalizeMma(MmaOp);
  void boundStore(StoreOp);
  void dropAtomics(mlir::Operation *);

  // BoundsInRegions.cpp
  /// What a loop starts with, the argument for it and the values that stand for that in the loop, and what a
  /// step gives back.
  struct Carried {
    Value init;
    llvm::SmallVector<Value, 2> names;
    Value next;
  };
  void boundsOfCarried(llvm::ArrayRef<Carried>);
  void boundsOfProducts(mlir::scf::ForOp);
  void boundsOfFor(mlir::scf::ForOp);
  void boundsOfWhile(mlir::scf::WhileOp);
  void boundsOfIf(mlir::scf::IfOp);
  void fillOthers(mlir::MutableOperandRange inits, mlir::ValueRange args);
  void keepOld(mlir::scf::YieldOp);

  llvm::DenseMap<Value, Bounds> bounds_;
};

} // namespace tessera::tile
