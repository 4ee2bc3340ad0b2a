// flip, sort, argsort, topk and histogram.
//
// The operation sorts signed integers. Elements of other dtypes become integers of the same order; to sort
// positions with them, both are packed into one integer, so that equal elements keep their order. Elements of
// 64 bits leave no room for a position: they are sorted by one half after the other.
#include "compiler/frontend/sema/CallRules.h"
#include <bit>

namespace tessera::frontend::rules {
namespace {

/// A tile that is used several times is computed once.
Value once(Elaborator &ctx, Value v, Range loc) {
  if (v.isError()) return v;
  v.weak = false;
  return ctx.toVariable(std::move(v), "sorted", loc);
}

Value bitsAs(Elaborator &ctx, Value v, DType to, Range loc) {
  if (v.isError() || v.dtype == to) return v;
  Type type = v.type();
  type.dtype = to;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  return Value::of(ctx.make(Op::Bitcast, type, loc, std::move(args)));
}

Value with(Elaborator &ctx, Op op, Value v, int64_t constant, Range loc) {
  if (v.isError()) return v;
  Value c = Elaborator::castConstant(Value::integer(constant), v.dtype);
  return ctx.binary(op, std::move(v), std::move(c), loc);
}

int64_t largest(DType t) { return static_cast<int64_t>(~uint64_t(0) >> (65 - info(t).bits)); }

/// The signed dtype of the integers that elements of `t` become.
DType keyDType(DType t) {
  if (isFloat(t)) return t == DType::F64 ? DType::I64 : DType::I32;
  switch (info(t).bits) {
  case 64:
    return DType::I64;
  case 32:
    return DType::I32;
  case 16:
    return DType::I16;
  default:
    return DType::I8;
  }
}

/// The bits of a float as an integer that is ordered as the floats are, and back.
Value orderedBits(Elaborator &ctx, Value bits, Range loc) {
  bits = once(ctx, std::move(bits), loc);
  if (bits.isError()) return bits;
  const DType t = bits.dtype;
  Value sign = with(ctx, Op::Shr, bits, info(t).bits - 1, loc);
  return ctx.binary(Op::Xor, std::move(bits), with(ctx, Op::And, std::move(sign), largest(t), loc), loc);
}

/// Integers in the order of the elements, or in the opposite order. A NaN is the largest.
Value keysOf(Elaborator &ctx, Value x, bool isDescending, Range loc) {
  const DType t = x.dtype, key = keyDType(t);
  if (isFloat(t)) {
    x = once(ctx, ctx.cast(std::move(x), t == DType::F64 ? t : DType::F32, loc), loc);
    Value keys = orderedBits(ctx, bitsAs(ctx, x, key, loc), loc);
    if (isDescending) keys = with(ctx, Op::Xor, std::move(keys), -1, loc);
    Value isNaN = ctx.binary(Op::Ne, x, x, loc);
    return ctx.select(std::move(isNaN), Value::integer(largest(key), key, false), std::move(keys), loc);
  }
  if (t == DType::Bool)
    x = ctx.cast(std::move(x), key, loc);
  else if (isUnsigned(t))
    x = with(ctx, Op::Xor, bitsAs(ctx, std::move(x), key, loc), ~largest(key), loc);
  return isDescending ? with(ctx, Op::Xor, std::move(x), -1, loc) : std::move(x);
}

Value elementsOf(Elaborator &ctx, Value keys, DType t, bool isDescending, Range loc) {
  const DType key = keyDType(t);
  if (isFloat(t)) {
    const Value sorted = keys = once(ctx, std::move(keys), loc);
    if (isDescending) keys = with(ctx, Op::Xor, std::move(keys), -1, loc);
    Value bits = orderedBits(ctx, std::move(keys), loc);
    if (isDescending) { // a NaN has the largest key, whose bits are also those of a NaN, in either order
      Value isNaN = with(ctx, Op::Eq, sorted, largest(key), loc);
      bits = ctx.select(std::move(isNaN), sorted, std::move(bits), loc);
    }
    return ctx.cast(bitsAs(ctx, std::move(bits), t == DType::F64 ? t : DType::F32, loc), t, loc);
  }
  if (isDescending) keys = with(ctx, Op::Xor, std::move(keys), -1, loc);
  if (t == DType::Bool) return with(ctx, Op::Ne, std::move(keys), 0, loc);
  if (!isUnsigned(t)) return keys;
  return bitsAs(ctx, with(ctx, Op::Xor, std::move(keys), ~largest(key), loc), t, loc);
}

Value sorted(Elaborator &ctx, Value keys, size_t axis, Range loc) {
  if (keys.isError()) return keys;
  const int64_t extent = keys.shape[axis];
  Type type = keys.type();
  type.shape[axis] = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  if (!ctx.checkTileSize(type.shape, loc)) return Value::error();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(keys), loc));
  ExprPtr e = ctx.make(Op::Sort, type, loc, std::move(args));
  e->ints = {static_cast<int64_t>(axis)};
  return partOf(ctx, Value::of(std::move(e)), axis, 0, extent, loc);
}

/// The positions along the axis, as i64, broadcast along the axes before it.
Value positionsOf(Elaborator &ctx, const std::vector<int64_t> &shape, size_t axis, Range loc) {
  std::vector<ExprPtr> first;
  first.push_back(ctx.constInt(0, loc, DType::I32));
  Value position =
      Value::of(ctx.make(Op::Arange, {Type::Tile, DType::I32, {shape[axis]}}, loc, std::move(first)));
  for (size_t i = axis + 1; i < shape.size(); ++i)
    position = ctx.expandDims(std::move(position), static_cast<int>(i - axis), loc);
  return ctx.cast(std::move(position), DType::I64, loc);
}

/// The key, of 32 bits, in the upper half of an i64, and `low`, which is not negative, in the lower half.
Value packed(Elaborator &ctx, Value key, Value low, Range loc) {
  key = with(ctx, Op::Shl, ctx.cast(std::move(key), DType::I64, loc), 32, loc);
  return ctx.binary(Op::Or, std::move(key), std::move(low), loc);
}

Value lowerHalf(Elaborator &ctx, Value v, Range loc) {
  return with(ctx, Op::And, std::move(v), UINT32_MAX, loc);
}

/// The positions of keys of 64 bits in their order: in the order of the lower halves first, then, which keeps
/// that order among equals, of the upper ones. Sorting by positions brings ranks back to their places.
Value orderOfWide(Elaborator &ctx, Value keys, size_t axis, Range loc) {
  constexpr int64_t kMasked = int64_t{1} << 62;
  keys = once(ctx, std::move(keys), loc);
  if (keys.isError()) return keys;
  const Value position = positionsOf(ctx, keys.shape, axis, loc);
  auto filled = [&](Value x, Value by) { return ctx.fillMasked(std::move(x), std::move(by), loc); };
  auto order = [&](Value v) { return once(ctx, sorted(ctx, std::move(v), axis, loc), loc); };
  Value isThere = filled(ctx.binary(Op::Eq, keys, keys, loc), Value::boolean(false));
  keys = once(ctx, filled(std::move(keys), Value::integer(largest(DType::I64), DType::I64, false)), loc);

  Value low = with(ctx, Op::Xor, with(ctx, Op::Shl, keys, 32, loc), INT64_MIN, loc); // unsigned order
  const Value byLow =
      once(ctx, lowerHalf(ctx, order(ctx.binary(Op::Or, std::move(low), position, loc)), loc), loc);
  Value rank = lowerHalf(ctx, order(packed(ctx, byLow, position, loc)), loc); // among the lower halves
  // The upper half above 30 bits for the rank; masked elements after all others.
  Value high = with(ctx, Op::Shl, with(ctx, Op::Shr, std::move(keys), 32, loc), 30, loc);
  Value whole = once(ctx, ctx.binary(Op::Or, std::move(high), std::move(rank), loc), loc);
  Value last = with(ctx, Op::Or, whole, kMasked, loc);
  const Value all = order(ctx.select(std::move(isThere), std::move(whole), std::move(last), loc));
  Value place = order(packed(ctx, with(ctx, Op::And, all, (1 << 30) - 1, loc), position, loc));
  Value out = lowerHalf(ctx, order(packed(ctx, lowerHalf(ctx, std::move(place), loc), byLow, loc)), loc);

  Type type = out.type();
  Value isKept = with(ctx, Op::Lt, all, kMasked, loc);
  if (out.isError() || isKept.isError()) return Value::error();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(out), loc));
  args.push_back(ctx.take(std::move(isKept), loc));
  return Value::of(ctx.make(Op::Keep, type, loc, std::move(args)));
}

/// A flag that is known.
std::optional<bool> staticFlag(Elaborator &ctx, const ast::Expr &e, const char *name) {
  Value v = ctx.evaluate(e);
  if (v.isError()) return std::nullopt;
  if (v.isScalar() && v.isConst && v.dtype == DType::Bool) return v.intValue != 0;
  ctx.fail(Code::E_CONSTANT, e.loc, std::string(name) + " is True or False, found " + describe(v));
  return std::nullopt;
}

} // namespace

Value flip(Elaborator &ctx, const KernelCall &a) {
  Value x = tileArgument(ctx, *a[0], "flip");
  if (x.isError()) return x;
  const auto rank = static_cast<int64_t>(x.shape.size());
  std::optional<int64_t> axis = ctx.staticAxis(a[1], x.shape.size(), -1);
  if (!axis) return Value::error();
  for (int64_t i = 0; i < rank; ++i) {
    if (*axis >= 0 && i != *axis) continue;
    x = ctx.function(Op::Flip, std::move(x), a.loc);
    x.expr->ints = {i};
  }
  return x;
}

Value sort(Elaborator &ctx, const KernelCall &a) {
  Value x = tileArgument(ctx, *a[0], a.function.name);
  if (x.isError()) return x;
  std::optional<int64_t> axis = ctx.staticAxis(a[1], x.shape.size(), -1);
  std::optional<bool> isDescending = staticFlag(ctx, *a[2], "descending");
  if (!axis || !isDescending) return Value::error();
  const DType t = x.dtype;
  const auto at = static_cast<size_t>(*axis);
  Value keys = keysOf(ctx, std::move(x), *isDescending, a.loc);
  if (a.function.id == FunctionId::Sort)
    return elementsOf(ctx, sorted(ctx, std::move(keys), at, a.loc), t, *isDescending, a.loc);
  if (keys.isError()) return keys;
  if (keys.dtype == DType::I64)
    return ctx.cast(orderOfWide(ctx, std::move(keys), at, a.loc), DType::I32, a.loc);
  Value positions = positionsOf(ctx, keys.shape, at, a.loc);
  Value order = sorted(ctx, packed(ctx, std::move(keys), std::move(positions), a.loc), at, a.loc);
  return ctx.cast(std::move(order), DType::I32, a.loc);
}

Value topk(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value x = tileArgument(ctx, *a[0], "topk");
  if (x.isError()) return x;
  std::optional<int64_t> k = ctx.staticInt(*a[1], "the number of elements"),
                         axis = ctx.staticAxis(a[2], x.shape.size(), -1);
  std::optional<bool> isLargest = staticFlag(ctx, *a[3], "largest");
  if (!k || !axis || !isLargest) return Value::error();
  const DType t = x.dtype;
  const auto at = static_cast<size_t>(*axis);
  if (*k < 1 || *k > x.shape[at])
    return ctx.fail(Code::E_SHAPE, a[1]->loc,
                    "'topk' takes between 1 and " + std::to_string(x.shape[at]) +
                        " elements of this axis, found " + std::to_string(*k));
  Value of = keysOf(ctx, std::move(x), *isLargest, loc);
  if (of.isError()) return of;
  if (of.dtype == DType::I64) {
    of = once(ctx, std::move(of), loc);
    Value best = partOf(ctx, sorted(ctx, of, at, loc), at, 0, *k, loc);
    Value where = partOf(ctx, orderOfWide(ctx, std::move(of), at, loc), at, 0, *k, loc);
    return Value::tuple({once(ctx, elementsOf(ctx, std::move(best), t, *isLargest, loc), loc),
                         once(ctx, ctx.cast(std::move(where), DType::I32, loc), loc)});
  }
  Value positions = positionsOf(ctx, of.shape, at, loc);
  Value all = sorted(ctx, packed(ctx, std::move(of), std::move(positions), loc), at, loc);
  Value first = once(ctx, partOf(ctx, std::move(all), at, 0, *k, loc), loc);
  if (first.isError()) return first;
  Value keys = ctx.cast(with(ctx, Op::Shr, first, 32, loc), keyDType(t), loc);
  return Value::tuple({once(ctx, elementsOf(ctx, std::move(keys), t, *isLargest, loc), loc),
                       once(ctx, ctx.cast(std::move(first), DType::I32, loc), loc)});
}

/// Counts the elements that are equal to each bin, in 16 bits where these hold all counts and bins: that is
/// twice as many bins in a vector. An element that is out of bounds is in none.
Value histogram(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value x = tileArgument(ctx, *a[0], "histogram");
  if (x.isError()) return x;
  if (!isInt(x.dtype))
    return ctx.fail(Code::E_TYPE, a[0]->loc, std::string("'histogram' counts integers, not ") + name(x.dtype),
                    "compute the bin of each element and cast it: ts.tile.cast((x - low) * scale, ts.i32)");
  std::optional<int64_t> bins = ctx.staticInt(*a[1], "the number of bins");
  if (!bins || !ctx.checkTileSize({*bins}, a[1]->loc)) return Value::error();
  const DType t = info(x.dtype).bits + isUnsigned(x.dtype) > 32 ? DType::I64 : DType::I32;
  int64_t count = 1;
  for (int64_t n : x.shape)
    count *= n;
  const DType counts = count <= INT16_MAX && *bins <= INT16_MAX ? DType::I16 : DType::I32;
  x = once(ctx, ctx.cast(std::move(x), t, loc), loc);
  if (x.isError()) return x;
  x = once(ctx, ctx.fillMasked(std::move(x), Value::integer(-1, t, false), loc), loc);
  if (counts == DType::I16) {
    Value isBin = ctx.binary(Op::And, with(ctx, Op::Ge, x, 0, loc), with(ctx, Op::Lt, x, *bins, loc), loc);
    x = ctx.select(std::move(isBin), std::move(x), Value::integer(-1, t, false), loc);
    x = once(ctx, ctx.cast(std::move(x), counts, loc), loc);
  }
  x = reshaped(ctx, std::move(x), {count, 1}, loc);
  std::vector<ExprPtr> first;
  first.push_back(ctx.constInt(0, loc, DType::I32));
  Value bin = Value::of(ctx.make(Op::Arange, {Type::Tile, DType::I32, {*bins}}, loc, std::move(first)));
  const DType key = x.dtype;
  Value hit = ctx.binary(Op::Eq, std::move(x), ctx.cast(std::move(bin), key, loc), loc);
  if (hit.isError()) return hit;
  Value sums = reduceAxis(ctx, Op::Sum, ctx.cast(std::move(hit), counts, loc), 0, loc);
  return ctx.cast(std::move(sums), DType::I32, loc);
}

} // namespace tessera::frontend::rules
