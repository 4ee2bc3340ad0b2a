// Tiles of a kernel whose elements past a tensor's edge are absent, for the pass tile-legalize-absence.
#pragma once
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace tessera::tile {

/// The present elements of a tile. One entry per axis; nullopt: every element is present.
using Box = llvm::SmallVector<std::optional<Interval>>;

bool isWhole(const Box &);

/// Built by the same operations from the same values.
bool sameExpression(mlir::Value, mlir::Value, int depth = 10);
/// Intervals built from the same start, extent and size.
bool provablySame(const std::optional<Interval> &, const std::optional<Interval> &);
bool sameBox(const Box &, const Box &);

mlir::Value indexConstant(mlir::OpBuilder &, mlir::Location, int64_t);

// AbsenceOfReads.cpp

Box loadBox(mlir::OpBuilder &, LoadOp);

/// A shared buffer holds what its last whole copy brought. A part of it has its share of that box, and ends
/// where the buffer does.
Box bufferBox(mlir::OpBuilder &, BufferReadOp);

/// The box of the one copy that reaches `reader`, looking back and outwards; whole when there is none, or
/// when a loop around the reader fills the buffer again.
Box copiedBox(mlir::OpBuilder &, mlir::Value buffer, mlir::Operation *reader);

/// The boxes of one kernel's tiles. Lives for one run of the pass.
class AbsentElements {
public:
  /// In program order; the branches of an if before its results, what a loop starts with before its body.
  void visit(mlir::Block &);

private:
  using OpBuilder = mlir::OpBuilder;
  using Location = mlir::Location;
  using Value = mlir::Value;

  // LegalizeAbsence.cpp: how a box passes through an operation, and where absence is seen.
  void visit(mlir::Operation *);
  Box box(Value);
  Interval meet(OpBuilder &, Location, Interval, Interval);
  Box broadcastBox(OpBuilder &, BroadcastOp);
  Box factorBox(OpBuilder &, MmaOp, Value factor);
  Box chosenBox(OpBuilder &, mlir::arith::SelectOp);
  void bounds(OpBuilder &, Location, const Box &, mlir::RankedTensorType, llvm::SmallVector<Value> &lo,
              llvm::SmallVector<Value> &hi);
  Value mask(OpBuilder &, Location, Value, const Box &, Value fill);
  Value presence(OpBuilder &, Location, const Box &, mlir::RankedTensorType);
  void fill(mlir::OpOperand &, mlir::TypedAttr with);
  void legalizeArgReduce(ArgReduceOp);
  void limitMma(MmaOp, Box x, Box y);
  void legalizeMma(MmaOp);
  void boundStore(StoreOp);
  void dropAtomics(mlir::Operation *);

  // AbsenceInRegions.cpp
  /// What a loop starts with, the argument for it and the values that stand for that in the loop, and what a
  /// step gives back.
  struct Carried {
    Value init;
    llvm::SmallVector<Value, 2> names;
    Value next;
  };
  void boxesOfCarried(llvm::ArrayRef<Carried>);
  void boxesOfFor(mlir::scf::ForOp);
  void boxesOfWhile(mlir::scf::WhileOp);
  void boxesOfIf(mlir::scf::IfOp);
  void fillOthers(mlir::MutableOperandRange inits, mlir::ValueRange args);
  void keepAbsent(mlir::scf::YieldOp);

  llvm::DenseMap<Value, Box> boxes_;
  /// Results of reshapes, and their operands before absent elements became 0.
  llvm::DenseMap<Value, Value> unshaped_;
};

} // namespace tessera::tile
