// Emits the tile program of a fusion group: TileBuilder's operations on values that have a dtype.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/TileBuilder.h"

namespace tessera::schedule {

using Shape = std::vector<int64_t>;

/// A scalar, a tile or a view, with its dtype: MLIR's integers have no sign, and tf32 is f32 in MLIR.
struct TypedValue {
  mlir::Value value;
  DType dtype = DType::I64;

  bool isTile() const { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
  /// Empty for a scalar.
  Shape shape() const {
    auto tile = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
    return tile ? Shape(tile.getShape().begin(), tile.getShape().end()) : Shape();
  }
};

/// Operands of an operation have one shape, and the dtype of the first. Indices and extents are i64 scalars.
class GroupBuilder {
public:
  using Starts = std::vector<TypedValue>;
  using Values = std::vector<TypedValue>;

  /// `builder` must outlive this object.
  explicit GroupBuilder(mlir::OpBuilder &builder) : b_(builder), tile_(builder) {}

  /// Sets the source location of the operations that follow; a location that is not in a file is ignored.
  void at(mlir::Location);
  mlir::Location loc() const { return tile_.loc(); }
  mlir::OpBuilder &builder() { return b_; }

  TypedValue integer(int64_t value, DType = DType::I64);
  TypedValue real(double value, DType);
  /// Every element is `value`, a constant of a dtype. Without a shape: the scalar.
  TypedValue full(double value, DType, const Shape &);
  /// A tile of zeros.
  TypedValue zero(DType dtype, const Shape &shape) {
    return {tile_.constant(tile_.tileType(dtype, shape), int64_t{0}), dtype};
  }
  /// Converts from index to i64.
  TypedValue fromIndex(mlir::Value);
  mlir::Value toIndex(const TypedValue &x) { return tile_.toIndex(x.value); }

  /// A comparison returns bool.
  TypedValue binary(graph::BinaryKind, const TypedValue &, const TypedValue &);
  TypedValue add(const TypedValue &x, const TypedValue &y) { return binary(graph::BinaryKind::Add, x, y); }
  TypedValue sub(const TypedValue &x, const TypedValue &y) { return binary(graph::BinaryKind::Sub, x, y); }
  TypedValue mul(const TypedValue &x, const TypedValue &y) { return binary(graph::BinaryKind::Mul, x, y); }
  TypedValue neg(const TypedValue &x) { return {tile_.neg(x.dtype, x.value), x.dtype}; }
  TypedValue abs(const TypedValue &x) { return {tile_.abs(x.dtype, x.value), x.dtype}; }
  TypedValue invert(const TypedValue &x) { return {tile_.invert(x.value), x.dtype}; }
  /// A function of each element that has an operation of its own.
  template <class Op> TypedValue function(const TypedValue &x) {
    return {Op::create(b_, loc(), x.value.getType(), x.value), x.dtype};
  }
  TypedValue select(const TypedValue &condition, const TypedValue &, const TypedValue &);
  TypedValue cast(const TypedValue &, DType);

  /// Broadcasts a scalar, or a tile of equal rank, to `shape`.
  TypedValue broadcast(const TypedValue &, const Shape &);
  TypedValue expandDims(const TypedValue &, int64_t axis);
  TypedValue reshape(const TypedValue &, const Shape &);
  TypedValue transpose(const TypedValue &);
  /// start, start + 1, ... as i32.
  TypedValue arange(const TypedValue &start, int64_t extent);

  TypedValue reduce(tile::ReduceKind, const TypedValue &, int64_t axis);
  /// Returns the position of the largest or smallest element along the axis, as i32.
  TypedValue find(tile::ArgKind, const TypedValue &, int64_t axis);
  /// Inclusive, in index order.
  TypedValue scan(tile::ScanKind, const TypedValue &, int64_t axis);
  /// Returns `extent` elements along the axis, from `first` on.
  TypedValue slice(const TypedValue &, int64_t axis, int64_t first, int64_t extent);
  TypedValue concat(const Values &, int64_t axis);
  TypedValue mma(const TypedValue &a, const TypedValue &b, const TypedValue &accumulator, bool transposeA,
                 bool transposeB);
  TypedValue causalMask(const TypedValue &scores, const TypedValue &q0, const TypedValue &k0);

  /// `extents[d]` is the extent along dim d, or -1 to index it, by a scalar or a tile of i64. If no dim has
  /// an extent or a tile, the result is one element.
  TypedValue load(const TypedValue &view, const Starts &, llvm::ArrayRef<int64_t> extents);
  /// With `ends`, one for each axis of the tile, only the elements before them are stored.
  void store(const TypedValue &, const TypedValue &view, const Starts &, llvm::ArrayRef<int64_t> extents,
             const Values &ends = {});
  /// Puts a scalar in the place of the elements of a tile that are outside the tensors it was loaded from.
  TypedValue fillMasked(const TypedValue &, const TypedValue &fill);
  /// Makes every thread's stores so far visible to the whole program.
  void barrier();

  /// Runs `body` for 0, step, ... below `end`; `body` returns the next carried values.
  Values loop(const TypedValue &end, int64_t step, const Values &inits, int64_t stages,
              llvm::function_ref<Values(const TypedValue &, const Values &)> body);
  /// Returns the results of `then` if the scalar `condition` holds, else those of `otherwise`.
  Values branch(const TypedValue &condition, const Values &otherwise, llvm::function_ref<Values()> then);

private:
  llvm::SmallVector<mlir::Value> indices(const Starts &);

  mlir::OpBuilder &b_;
  tile::TileBuilder tile_;
};

} // namespace tessera::schedule
