// Bounds of a kernel's tiles, for the pass tile-legalize-bounds.
#pragma once
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <array>

namespace tessera::tile {

mlir::Value indexConstant(mlir::OpBuilder &, mlir::Location, int64_t);

// BoundsOfReads.cpp

/// `only`: of that axis of the tile; the others are whole.
Box loadBox(mlir::OpBuilder &, LoadOp, std::optional<unsigned> only = {});

/// Returns the bounds of a tile that is gathered: where its slices are inside the tensor and its indices are,
/// and where the tiles of indices are in bounds. `only`: of that slice, of those in the tile; the others are
/// whole.
Bounds gatherBounds(mlir::OpBuilder &, GatherOp, BoundsOf, std::optional<unsigned> only = {});

/// A shared buffer contains what its last whole copy wrote. A part of it has the corresponding part of that
/// copy's box, and ends where the buffer does.
Box bufferBox(mlir::OpBuilder &, BufferReadOp);

/// Returns the one copy that reaches `reader`, searching backwards and outwards; null if there is none, or if
/// a loop around the reader fills the buffer again.
CpAsyncOp reachingCopy(mlir::Value buffer, mlir::Operation *reader);
Box copyBox(mlir::OpBuilder &, CpAsyncOp, std::optional<unsigned> only = {});
/// Returns the box of the copy that reaches; whole if there is none.
Box copiedBox(mlir::OpBuilder &, mlir::Value buffer, mlir::Operation *reader);

/// Is the value, or are both ends of an axis, computed outside of the region of this operation?
bool isOutside(mlir::Value, mlir::Operation *region);
bool isOutside(const std::optional<Interval> &axis, mlir::Operation *region);

/// What is in bounds along one axis of a tile: an interval, and flags of rank 1, which may be null.
struct Line {
  std::optional<Interval> ends = {};
  mlir::Value flags = {};
};
/// The rows and the columns of a product.
using Lines = std::array<Line, 2>;

/// Products that are added to `start` one after the other, and the bounds that all of them have.
struct Sum {
  mlir::Value start;
  Lines products;
};

// BoundsOfSums.cpp

/// Returns what both have.
Lines commonLines(mlir::OpBuilder &, mlir::Location, const Lines &, const Lines &);
Lines linesOf(mlir::OpBuilder &, mlir::Location, const Bounds &);
Bounds boundsOf(mlir::OpBuilder &, mlir::Location, const Lines &, llvm::ArrayRef<int64_t> shape);

// LegalizeBounds.cpp

/// How bounds pass through an operation without regions: those of its result, a tile. `of` gives those of a
/// tile that is an operand; `b` inserts beside the operation.
Bounds boundsOfResult(mlir::OpBuilder &b, mlir::Operation *, BoundsOf of);
/// Returns the bounds of a tile of this shape that is one of two.
Bounds boundsOfChoice(mlir::OpBuilder &, mlir::Location, mlir::Value condition, const Bounds &x,
                      const Bounds &y, llvm::ArrayRef<int64_t> shape);

// BoundsInRegions.cpp

/// One value that a loop carries.
struct Carried {
  mlir::OpOperand *init;
  llvm::SmallVector<mlir::Value, 2> names; // the argument; of a while also that of the body, if there is one
  mlir::Value next;                        // what an iteration yields
  mlir::Value result;                      // null if the condition of a while does not pass it on
};
llvm::SmallVector<Carried> carriedBy(mlir::LoopLikeOpInterface);
/// Returns the value whose last state is `result`; nullopt if it is no result of a loop.
std::optional<Carried> carriedAs(mlir::Value result);

/// The bounds of one kernel's tiles. Lives for one run of the pass.
class BoundsLegalizer {
public:
  /// Visits in program order: the branches of an if before its results, the initial values of a loop before
  /// its body.
  void visit(mlir::Block &);

private:
  using OpBuilder = mlir::OpBuilder;
  using Location = mlir::Location;
  using Value = mlir::Value;

  // LegalizeBounds.cpp: how bounds pass through an operation, and where out-of-bounds elements would be
  // visible.
  void visit(mlir::Operation *);
  /// Returns the bounds of a tile, as far as they are known; whole otherwise.
  Bounds bounds(Value);
  /// Returns `v` with `element` in place of the elements that are out of bounds. With `keepsZeros`, that may
  /// be `v` itself, whose bounds remain, if it has zeros there and `element` is 0.
  Value filled(OpBuilder &, Location, Value v, Value element, llvm::DenseMap<Value, Value> &done,
               bool keepsZeros = true);
  /// `combined`: the axis along which the operation combines the operand's elements.
  void fill(mlir::OpOperand &, mlir::TypedAttr with, std::optional<unsigned> combined = {});
  /// Replaces the operation by the value that it returns.
  Value fillForGood(FillMaskedOp);
  void legalizeArgReduce(ArgReduceOp);
  Box factorBox(OpBuilder &, MmaOp, Value factor);
  Box limitMma(MmaOp, Box x, Box y);
  /// Returns the product, with the accumulator's elements where `flags` (null: all are set) are not set.
  Value legalizeMma(MmaOp, Value flags);
  void boundStore(StoreOp);
  void boundScatter(ScatterOp);
  void dropIndices(mlir::MutableOperandRange);
  void dropAtomics(mlir::Operation *);

  /// Visits the operation of a value that was moved before a loop. Returns the value that is in its place.
  Value visitMoved(Value);

  // BoundsInRegions.cpp
  void boundsOfCarried(llvm::ArrayRef<Carried>);
  void boundsOfLoop(mlir::LoopLikeOpInterface);
  void boundsOfIf(mlir::scf::IfOp);
  void keepOld(mlir::scf::YieldOp);

  // BoundsOfSums.cpp
  void visitProduct(MmaOp);
  /// Does the loop continue a sum with this value?
  bool continueSum(mlir::LoopLikeOpInterface, const Carried &);
  void boundsOfProducts(mlir::LoopLikeOpInterface, const Carried &);
  /// Returns those of an if's results.
  llvm::DenseMap<unsigned, Sum> sumsOfIf(mlir::scf::IfOp);

  llvm::DenseMap<Value, Bounds> bounds_;
  llvm::DenseMap<Value, Sum> sums_;
};

} // namespace tessera::tile
