#include "compiler/schedule/Transforms/GroupBuilder.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/TileFunctions.h"

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;

void GroupBuilder::at(Location location) {
  if (auto where = location->findInstanceOf<FileLineColLoc>()) tile_.at(where);
}

TypedValue GroupBuilder::integer(int64_t value, DType dtype) {
  return {tile_.constant(tile_.scalarType(dtype), value), dtype};
}

TypedValue GroupBuilder::real(double value, DType dtype) { return {tile_.real(value, dtype), dtype}; }

TypedValue GroupBuilder::full(double value, DType dtype, const Shape &shape) {
  TypedValue x = isFloat(dtype) ? real(value, dtype) : integer(static_cast<int64_t>(value), dtype);
  return shape.empty() ? x : broadcast(x, shape);
}

TypedValue GroupBuilder::fromIndex(Value index) { return {tile_.toI64(index), DType::I64}; }

TypedValue GroupBuilder::binary(BinaryKind kind, const TypedValue &x, const TypedValue &y) {
  DType dtype = x.dtype;
  Value a = x.value, b = y.value;
  switch (kind) {
  case BinaryKind::Add:
    return {tile_.add(dtype, a, b), dtype};
  case BinaryKind::Sub:
    return {tile_.sub(dtype, a, b), dtype};
  case BinaryKind::Mul:
    return {tile_.mul(dtype, a, b), dtype};
  case BinaryKind::Div:
    return {tile_.div(a, b), dtype};
  case BinaryKind::FloorDiv:
    return {tile_.floorDiv(dtype, a, b), dtype};
  case BinaryKind::Mod:
    return {tile_.mod(dtype, a, b), dtype};
  case BinaryKind::Pow:
    return {tile_.pow(dtype, a, b), dtype};
  case BinaryKind::Fmod:
    return {tile_.fmod(a, b), dtype};
  case BinaryKind::Minimum:
    return {tile_.minimum(dtype, a, b), dtype};
  case BinaryKind::Maximum:
    return {tile_.maximum(dtype, a, b), dtype};
  case BinaryKind::And:
    return {arith::AndIOp::create(b_, loc(), a, b), dtype};
  case BinaryKind::Or:
    return {arith::OrIOp::create(b_, loc(), a, b), dtype};
  case BinaryKind::Xor:
    return {arith::XOrIOp::create(b_, loc(), a, b), dtype};
  case BinaryKind::Shl:
    return {tile_.shl(dtype, a, b), dtype};
  case BinaryKind::Shr:
    return {tile_.shr(dtype, a, b), dtype};
#define TSR_FLOAT_FUNCTION2(id, name, parameters, text)                                                      \
  case BinaryKind::id:                                                                                       \
    return {tile::id##Op::create(b_, loc(), a, b), dtype};
#include "compiler/ops/Functions.def"
  case BinaryKind::Lt:
  case BinaryKind::Le:
  case BinaryKind::Gt:
  case BinaryKind::Ge:
  case BinaryKind::Eq:
  case BinaryKind::Ne:
    break;
  }
  using Relation = tile::TileBuilder::Relation;
  static constexpr Relation relations[] = {Relation::Lt, Relation::Le, Relation::Gt,
                                           Relation::Ge, Relation::Eq, Relation::Ne};
  Relation relation = relations[static_cast<int>(kind) - static_cast<int>(BinaryKind::Lt)];
  return {tile_.compare(relation, dtype, a, b), DType::Bool};
}

TypedValue GroupBuilder::select(const TypedValue &condition, const TypedValue &x, const TypedValue &y) {
  return {arith::SelectOp::create(b_, loc(), condition.value, x.value, y.value), x.dtype};
}

TypedValue GroupBuilder::cast(const TypedValue &x, DType dtype) {
  return x.dtype == dtype ? x : TypedValue{tile_.cast(x.value, x.dtype, dtype), dtype};
}

TypedValue GroupBuilder::broadcast(const TypedValue &x, const Shape &shape) {
  return {tile_.broadcast(x.value, tile_.tileType(x.dtype, shape)), x.dtype};
}

TypedValue GroupBuilder::expandDims(const TypedValue &x, int64_t axis) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return {tile::ExpandDimsOp::create(b_, loc(), tile_.tileType(x.dtype, shape), x.value, axis), x.dtype};
}

TypedValue GroupBuilder::reshape(const TypedValue &x, const Shape &shape) {
  if (x.shape() == shape) return x;
  return {tile::ReshapeOp::create(b_, loc(), tile_.tileType(x.dtype, shape), x.value), x.dtype};
}

TypedValue GroupBuilder::transpose(const TypedValue &x) {
  Shape shape = x.shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return {tile::TransposeOp::create(b_, loc(), tile_.tileType(x.dtype, shape), x.value), x.dtype};
}

TypedValue GroupBuilder::arange(const TypedValue &start, int64_t extent) {
  Value first = cast(start, DType::I32).value;
  return {tile::IotaOp::create(b_, loc(), tile_.tileType(DType::I32, {extent}), first), DType::I32};
}

TypedValue GroupBuilder::reduce(tile::ReduceKind kind, const TypedValue &x, int64_t axis) {
  return {tile_.reduce(kind, x.dtype, x.value, axis), x.dtype};
}

TypedValue GroupBuilder::find(tile::ArgKind kind, const TypedValue &x, int64_t axis) {
  Shape shape = x.shape();
  shape.erase(shape.begin() + axis);
  Type type = shape.empty() ? tile_.scalarType(DType::I32) : tile_.tileType(DType::I32, shape);
  bool hasNoSign = isUnsigned(x.dtype) || x.dtype == DType::Bool;
  return {tile::ArgReduceOp::create(b_, loc(), type, kind, x.value, axis, hasNoSign), DType::I32};
}

TypedValue GroupBuilder::scan(tile::ScanKind kind, const TypedValue &x, int64_t axis) {
  bool hasNoSign = isUnsigned(x.dtype) || x.dtype == DType::Bool;
  return {tile::ScanOp::create(b_, loc(), x.value.getType(), kind, x.value, axis, hasNoSign), x.dtype};
}

TypedValue GroupBuilder::slice(const TypedValue &x, int64_t axis, int64_t first, int64_t extent) {
  Shape shape = x.shape();
  SmallVector<int64_t> offsets(shape.size(), 0);
  offsets[axis] = first;
  shape[axis] = extent;
  return {tile::SliceOp::create(b_, loc(), tile_.tileType(x.dtype, shape), x.value, offsets), x.dtype};
}

TypedValue GroupBuilder::concat(const Values &parts, int64_t axis) {
  const DType dtype = parts.front().dtype;
  Shape shape = parts.front().shape();
  shape[axis] = 0;
  SmallVector<Value> values;
  for (const TypedValue &part : parts) {
    shape[axis] += part.shape()[axis];
    values.push_back(part.value);
  }
  return {tile::ConcatOp::create(b_, loc(), tile_.tileType(dtype, shape), values, axis), dtype};
}

TypedValue GroupBuilder::mma(const TypedValue &a, const TypedValue &b, const TypedValue &accumulator,
                             bool transposeA, bool transposeB) {
  return {tile_.mma(a.dtype, a.value, b.value, accumulator.value, transposeA, transposeB), accumulator.dtype};
}

TypedValue GroupBuilder::causalMask(const TypedValue &scores, const TypedValue &q0, const TypedValue &k0) {
  return {tile_.causalMask(scores.value, q0.value, k0.value), scores.dtype};
}

SmallVector<Value> GroupBuilder::indices(const Starts &starts) {
  return llvm::map_to_vector(
      starts, [&](const TypedValue &start) { return start.isTile() ? start.value : toIndex(start); });
}

TypedValue GroupBuilder::load(const TypedValue &view, const Starts &starts, ArrayRef<int64_t> extents) {
  return {tile_.load(view.value, indices(starts), extents), view.dtype};
}

void GroupBuilder::store(const TypedValue &x, const TypedValue &view, const Starts &starts,
                         ArrayRef<int64_t> extents, const Values &ends) {
  if (ends.empty()) return tile_.store(x.value, view.value, indices(starts), extents);
  SmallVector<Value> zeros(ends.size(), tile_.constant(b_.getIndexType(), int64_t{0}));
  tile::StoreOp::create(b_, loc(), x.value, view.value, indices(starts), zeros, indices(ends), Value(),
                        b_.getDenseI64ArrayAttr(extents), UnitAttr());
}

TypedValue GroupBuilder::fillMasked(const TypedValue &x, const TypedValue &fill) {
  return {tile::FillMaskedOp::create(b_, loc(), x.value.getType(), x.value, fill.value), x.dtype};
}

void GroupBuilder::barrier() { tile::BarrierOp::create(b_, loc()); }

static SmallVector<Value> untyped(const GroupBuilder::Values &values) {
  return llvm::map_to_vector(values, [](const TypedValue &x) { return x.value; });
}

/// Returns `values` with the dtypes of `like`.
static GroupBuilder::Values typed(ValueRange values, const GroupBuilder::Values &like) {
  GroupBuilder::Values out;
  for (auto [value, x] : llvm::zip_equal(values, like))
    out.push_back({value, x.dtype});
  return out;
}

GroupBuilder::Values GroupBuilder::loop(const TypedValue &end, int64_t step, const Values &inits,
                                        int64_t stages,
                                        llvm::function_ref<Values(const TypedValue &, const Values &)> body) {
  Type index = b_.getIndexType();
  Value lo = tile_.constant(index, int64_t{0}), hi = toIndex(end), by = tile_.constant(index, step);
  auto loop = tile_.loop(lo, hi, by, untyped(inits), [&](Value variable, ValueRange carried) {
    return untyped(body(fromIndex(variable), typed(carried, inits)));
  });
  if (stages > 0) loop->setAttr(kStages, b_.getI64IntegerAttr(stages));
  return typed(loop.getResults(), inits);
}

GroupBuilder::Values GroupBuilder::branch(const TypedValue &condition, const Values &otherwise,
                                          llvm::function_ref<Values()> then) {
  SmallVector<Value> old = untyped(otherwise);
  auto branch = tile_.branch(
      condition.value, TypeRange(ValueRange(old)), [&] { return untyped(then()); }, [&] { return old; });
  return typed(branch.getResults(), otherwise);
}

} // namespace tessera::schedule
