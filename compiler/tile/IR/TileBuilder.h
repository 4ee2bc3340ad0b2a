// Emits the values of a tile program: maps the operations of the language to arith, math and tile operations.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "numerics/DType.h"

namespace tessera::tile {

/// Emits at the insertion point of an OpBuilder, which must outlive this object. Values may be scalars or
/// tiles; the operands of an operation have the same type. MLIR's integer types have no sign, so an operation
/// whose result depends on it takes the dtype of its operands.
class TileBuilder {
public:
  using Location = mlir::Location;
  using Value = mlir::Value;

  explicit TileBuilder(mlir::OpBuilder &builder)
      : b_(builder), loc_(mlir::UnknownLoc::get(builder.getContext())) {}

  /// Sets the source location of the operations that follow.
  Location at(Location location) { return loc_ = location; }
  Location loc() const { return loc_; }

  /// Returns the type of a scalar, or of a tile of this shape.
  mlir::Type scalarType(DType) const;
  mlir::Type tileType(DType, llvm::ArrayRef<int64_t> shape) const;

  /// A constant of the type; a tile has it in every element. MLIR rounds a double.
  Value constant(mlir::Type, int64_t);
  Value constant(mlir::Type, double);
  /// Returns a constant rounded as casts of the language round: fp8 saturates, tf32 is kept in f32.
  Value real(double, DType);
  /// Returns the value itself if it has the type, else a tile of the type with its elements repeated.
  Value broadcast(Value, mlir::Type);
  /// Converts integers to index, elementwise.
  Value toIndex(Value);
  Value toI64(Value index);

  Value neg(DType, Value);
  Value abs(DType, Value);
  Value invert(Value);
  Value add(DType, Value, Value);
  Value sub(DType, Value, Value);
  Value mul(DType, Value, Value);
  /// Floats only.
  Value div(Value, Value);
  /// Python's // and %. An integer divided by zero gives 0.
  Value floorDiv(DType, Value, Value);
  Value mod(DType, Value, Value);
  Value pow(DType, Value, Value);
  Value fmod(Value, Value);         // of floats, as in C
  Value multiplyHigh(Value, Value); // the upper half of a product of unsigned integers
  Value minimum(DType, Value, Value);
  Value maximum(DType, Value, Value);
  /// Integers only. A negative amount, or one that is not below the width, shifts every bit out.
  Value shl(DType, Value, Value);
  Value shr(DType, Value, Value);

  enum class Relation { Lt, Le, Gt, Ge, Eq, Ne };
  /// Ordered for floats, except that != holds if either side is NaN.
  Value compare(Relation, DType, Value, Value);

  Value cast(Value, DType from, DType to);
  Value reduce(ReduceKind, DType, Value, int64_t axis);
  /// a * b, with either transposed, added to `accumulator`.
  Value mma(DType operands, Value a, Value b, Value accumulator, bool transposeA, bool transposeB);
  /// The scores with -inf where k0 + j > q0 + i. `q0` and `k0` are i64.
  Value causalMask(Value scores, Value q0, Value k0);

  /// Reads from `starts` (index) on: `extents[d]` elements along dim d, or -1 to index it. If no dim has an
  /// extent, the result is one element.
  Value load(Value view, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents);
  /// Writes a value of that shape. Elements past the end of the view are dropped.
  void store(Value, Value view, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents);

  using Values = llvm::SmallVector<Value>;
  /// Calls `body` with the index and the carried values of one iteration; `body` returns those of the next.
  /// The step must be positive.
  mlir::scf::ForOp loop(Value lo, Value hi, Value step, mlir::ValueRange inits,
                        llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  /// Each side returns its values. If there are no results, `otherwise` may be null.
  mlir::scf::IfOp branch(Value condition, mlir::TypeRange results, llvm::function_ref<Values()> then,
                         llvm::function_ref<Values()> otherwise);

private:
  Value compareInts(mlir::arith::CmpIPredicate, Value, Value);
  Value compareFloats(mlir::arith::CmpFPredicate, Value, Value);
  Value select(Value condition, Value, Value);
  Value divideInts(DType, Value, Value, bool isRemainder);
  Value shift(DType, Value, Value, bool isLeft);
  Value intPow(DType, Value, Value);
  Value floatPow(Value, Value);
  Value floatMod(Value, Value);
  Value floatFloorDiv(Value, Value);

  mlir::OpBuilder &b_;
  Location loc_;
};

} // namespace tessera::tile
