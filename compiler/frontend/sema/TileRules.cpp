// Functions that make, reshape, mask and join tiles.
#include "compiler/frontend/sema/CallRules.h"
#include <algorithm>
#include <numeric>

namespace tessera::frontend::rules {

Value arange(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value start = a[1] ? ctx.operand(*a[0]) : Value::integer(0);
  Value stop = ctx.operand(*a[a[1] ? 1 : 0]);
  if (start.isError() || stop.isError()) return Value::error();
  if (!start.isIntScalar() || !stop.isIntScalar())
    return ctx.fail(Code::E_TYPE, loc, "'arange' takes integers");
  std::optional<int64_t> n = ctx.extentOf(start, stop, loc);
  if (!n || !ctx.checkTileSize({*n}, loc)) return Value::error();
  // Returns an i32 tile, or an i64 tile if the start has 64 bits and is not a constant that leaves room for
  // the rest.
  bool fits = start.isConst && start.intValue >= INT32_MIN && start.intValue <= INT32_MAX - *n;
  bool isWide = start.dtype == DType::I64 && !fits;
  std::vector<ExprPtr> args;
  args.push_back(isWide ? ctx.constInt(0, loc, DType::I32) : ctx.take(ctx.cast(start, DType::I32, loc), loc));
  Value tile = Value::of(ctx.make(Op::Arange, {Type::Tile, DType::I32, {*n}}, loc, std::move(args)));
  if (!isWide) return tile;
  start.weak = false;
  return ctx.binary(Op::Add, std::move(start), std::move(tile), loc);
}

/// Makes a tile of one scalar: of `value`, or of zeros.
static Value filled(Elaborator &ctx, const KernelCall &a, const ast::Expr *value, const ast::Expr *dtype) {
  const Range loc = a.loc;
  std::vector<int64_t> shape;
  const bool isFull = value != nullptr;
  bool ok = ctx.staticShape(*a[0], shape);
  Value fill = isFull ? ctx.operand(*value) : Value::integer(0);
  std::optional<DType> t = DType::F32;
  if (dtype)
    t = ctx.staticDType(*dtype);
  else if (isFull && fill.isScalar())
    t = ctx.strengthen(fill).dtype;
  if (!ok || !t || fill.isError() || !ctx.checkTileSize(shape, loc)) return Value::error();
  if (fill.isTile())
    return ctx.fail(Code::E_TYPE, loc, "'full' takes a scalar",
                    "spread a tile with ts.tile.broadcast(x, shape)");
  if (fill.dtype != *t && !fill.weak && !fill.converts(*t))
    return ctx.fail(Code::E_TYPE_MIX, loc,
                    std::string("'full' is given ") + describe(fill) + " for a tile of " + name(*t),
                    std::string("cast the value with ts.") + name(*t) + "(x)");
  if (fill.weak && isFloat(fill.dtype) && !isFloat(*t))
    return ctx.fail(Code::E_TYPE_MIX, loc, std::string("a float cannot fill a tile of ") + name(*t));
  return ctx.broadcastTo(ctx.convert(std::move(fill), *t, loc), shape, loc);
}

Value zeros(Elaborator &ctx, const KernelCall &a) { return filled(ctx, a, nullptr, a[1]); }

Value full(Elaborator &ctx, const KernelCall &a) { return filled(ctx, a, a[1], a[2]); }

Value transposed(Elaborator &ctx, Value v, Range loc) {
  if (v.kind == Value::Buffer) {
    if (ctx.kernel_.symbols[static_cast<size_t>(v.index)].type.shape.size() < 2)
      return ctx.fail(Code::E_AXIS, loc, "'.T' needs at least two axes");
    v.transposed = !v.transposed;
    return v;
  }
  if (v.isError()) return v;
  if (v.shape.size() < 2)
    return ctx.fail(Code::E_AXIS, loc, "'.T' needs at least two axes, found " + describe(v));
  if (v.expr->op == Op::Transpose) return Value::of(std::move(v.expr->args[0]));
  Type type = v.type();
  std::swap(type.shape[type.shape.size() - 1], type.shape[type.shape.size() - 2]);
  std::optional<DType> accum = v.accum;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  Value out = Value::of(ctx.make(Op::Transpose, type, loc, std::move(args)));
  out.accum = accum;
  return out;
}

/// The tile with its axes in the order `perm`. A step swaps two neighbouring runs of axes, each merged into
/// one, until every axis is in its place.
static Value permuted(Elaborator &ctx, Value v, const std::vector<int64_t> &perm, Range loc) {
  const DType dtype = v.dtype;
  std::vector<int64_t> order(perm.size()), shape = v.shape; // the axes of v, as far as they are in place
  std::iota(order.begin(), order.end(), 0);
  auto reshaped = [&](std::vector<int64_t> to) {
    if (to == v.shape) return;
    std::vector<ExprPtr> args;
    args.push_back(ctx.take(std::move(v), loc));
    v = Value::of(ctx.make(Op::Reshape, {Type::Tile, dtype, std::move(to)}, loc, std::move(args)));
  };
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto from = std::ranges::find(order, perm[i]);
    const auto at = static_cast<size_t>(from - order.begin());
    if (at == i) continue;
    std::vector<int64_t> merged(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(i));
    int64_t first = 1, second = 1;
    for (size_t k = i; k < shape.size(); ++k)
      (k < at ? first : second) *= shape[k];
    merged.insert(merged.end(), {first, second});
    reshaped(std::move(merged));
    v = transposed(ctx, std::move(v), loc);
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(i), from, order.end());
    std::rotate(shape.begin() + static_cast<std::ptrdiff_t>(i),
                shape.begin() + static_cast<std::ptrdiff_t>(at), shape.end());
  }
  reshaped(std::move(shape));
  return v;
}

Value transpose(Elaborator &ctx, const KernelCall &a) {
  Value v = ctx.evaluate(*a[0]);
  if (!a[1])
    return transposed(ctx, v.kind == Value::Buffer ? std::move(v) : ctx.asOperand(std::move(v), a.loc),
                      a.loc);
  v = ctx.asOperand(std::move(v), a[0]->loc);
  Value dims = ctx.evaluate(*a[1]);
  if (v.isError() || dims.isError()) return Value::error();
  if (!v.isTile())
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    std::string("'") + a.function.name + "' takes a tile, found " + describe(v));
  const size_t rank = v.shape.size();
  std::vector<int64_t> perm, sorted;
  if (dims.kind == Value::Tuple)
    for (const Value &item : dims.items) {
      std::optional<int64_t> axis = ctx.staticInt(item, a[1]->loc, "an axis");
      if (!axis) return Value::error();
      perm.push_back(*axis < 0 ? *axis + static_cast<int64_t>(rank) : *axis);
    }
  sorted = perm;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) sorted.clear();
  if (sorted.size() != rank || dims.kind != Value::Tuple)
    return ctx.fail(Code::E_AXIS, a[1]->loc,
                    "the order of axes names each axis of the tile once, and the tile has " +
                        std::to_string(rank),
                    rank == 3 ? "for example (1, 2, 0)" : "");
  return permuted(ctx, std::move(v), perm, a.loc);
}

Value reshape(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value v = ctx.operand(*a[0]);
  std::vector<int64_t> shape;
  if (!ctx.staticShape(*a[1], shape) || v.isError()) return Value::error();
  if (!v.isTile()) return ctx.fail(Code::E_TYPE, loc, "'reshape' takes a tile, found " + describe(v));
  int64_t have = 1, product = 1;
  for (int64_t n : v.shape)
    have *= n;
  int64_t *free = nullptr;
  bool legal = true;
  for (int64_t &n : shape) {
    if (n == -1 && !free)
      free = &n;
    else if (n < 1 || __builtin_mul_overflow(product, n, &product))
      legal = false;
  }
  if (legal && free && have % product == 0) {
    *free = have / product;
    product = have;
  }
  if (!legal || product != have)
    return ctx.fail(Code::E_SHAPE, loc,
                    "a tile of shape " + shapeText(v.shape) + " cannot be reshaped to " + shapeText(shape));
  if (!ctx.checkTileSize(shape, loc)) return Value::error();
  Type type{Type::Tile, v.dtype, shape};
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  return Value::of(ctx.make(Op::Reshape, type, loc, std::move(args)));
}

Value cast(Elaborator &ctx, const KernelCall &a) {
  Value v = ctx.operand(*a[0]);
  std::optional<DType> t = ctx.staticDType(*a[1]);
  return t ? ctx.cast(std::move(v), *t, a.loc) : Value::error();
}

Value where(Elaborator &ctx, const KernelCall &a) {
  Value c = ctx.operand(*a[0]), x = ctx.operand(*a[1]), y = ctx.operand(*a[2]);
  return ctx.where(std::move(c), std::move(x), std::move(y), a[0]->loc, a.loc);
}

Value withFill(Elaborator &ctx, Value x, const ast::Expr &fill, const char *function) {
  Value value = ctx.operand(fill);
  if (x.isError() || value.isError()) return Value::error();
  const std::string what = std::string("'") + function + "'";
  if (!value.isScalar())
    return ctx.fail(Code::E_TYPE, fill.loc, what + " fills with a scalar, found " + describe(value),
                    "choose elements of two tiles with ts.tile.where");
  if (!value.converts(x.dtype))
    return ctx.fail(Code::E_TYPE, fill.loc,
                    what + " fills a tile of " + std::string(name(x.dtype)) + ", found " + describe(value),
                    std::string("convert the value: ts.tile.cast(VALUE, ts.") + name(x.dtype) + ")");
  value = ctx.convert(std::move(value), x.dtype, fill.loc);
  if (value.isError()) return value;
  return ctx.fillMasked(std::move(x), std::move(value), fill.loc);
}

Value withMask(Elaborator &ctx, Value x, const ast::Expr &keep, const char *function) {
  Value flags = ctx.operand(keep);
  if (x.isError() || flags.isError()) return Value::error();
  if (!(flags.isScalar() || flags.isTile()) || flags.dtype != DType::Bool)
    return ctx.fail(Code::E_TYPE, keep.loc,
                    std::string("'") + function + "' takes a mask of bools, found " + describe(flags),
                    "compare: i < n");
  flags = ctx.broadcastTo(std::move(flags), x.shape, keep.loc);
  if (flags.isError()) return flags;
  Type type = x.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(x), keep.loc));
  args.push_back(ctx.take(std::move(flags), keep.loc));
  return Value::of(ctx.make(Op::Keep, type, keep.loc, std::move(args)));
}

Value tileArgument(Elaborator &ctx, const ast::Expr &e, const char *function) {
  Value x = ctx.operand(e);
  if (x.isError() || x.isTile()) return x;
  return ctx.fail(Code::E_TYPE, e.loc, std::string("'") + function + "' takes a tile, found " + describe(x));
}

Value fillMasked(Elaborator &ctx, const KernelCall &a) {
  return withFill(ctx, tileArgument(ctx, *a[0], "fill_masked"), *a[1], "fill_masked");
}

Value mask(Elaborator &ctx, const KernelCall &a) {
  return withMask(ctx, tileArgument(ctx, *a[0], "mask"), *a[1], "mask");
}

Value broadcast(Elaborator &ctx, const KernelCall &a) {
  Value v = ctx.operand(*a[0]);
  std::vector<int64_t> shape;
  if (!ctx.staticShape(*a[1], shape) || v.isError() || !ctx.checkTileSize(shape, a.loc))
    return Value::error();
  return ctx.broadcastTo(ctx.strengthen(std::move(v)), shape, a.loc);
}

Value concat(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value list = ctx.evaluate(*a[0]);
  if (list.isError()) return list;
  if (list.kind != Value::Tuple || list.items.empty())
    return ctx.fail(Code::E_TYPE, a[0]->loc, "'concat' takes a tuple of tiles",
                    "write ts.tile.concat((a, b), axis=0)");
  std::vector<ExprPtr> args;
  Type type;
  std::optional<int64_t> axis;
  for (size_t i = 0; i < list.items.size(); ++i) {
    Value v = ctx.asOperand(std::move(list.items[i]), a[0]->loc);
    if (v.isError()) return v;
    if (!v.isTile()) return ctx.fail(Code::E_TYPE, a[0]->loc, "'concat' takes tiles, found " + describe(v));
    if (i == 0) {
      type = v.type();
      axis = ctx.staticAxis(a[1], type.shape.size(), 0);
      if (!axis) return Value::error();
    } else {
      std::vector<int64_t> want = type.shape;
      bool sameRank = v.shape.size() == want.size();
      if (sameRank) want[static_cast<size_t>(*axis)] = v.shape[static_cast<size_t>(*axis)];
      if (v.dtype != type.dtype)
        return ctx.fail(Code::E_TYPE_MIX, loc,
                        std::string("'concat' mixes ") + name(type.dtype) + " and " + name(v.dtype));
      if (!sameRank || want != v.shape)
        return ctx.fail(Code::E_SHAPE, loc,
                        "shapes " + shapeText(type.shape) + " and " + shapeText(v.shape) +
                            " differ in another axis than " + std::to_string(*axis));
      type.shape[static_cast<size_t>(*axis)] += v.shape[static_cast<size_t>(*axis)];
    }
    args.push_back(ctx.take(std::move(v), loc));
  }
  if (!ctx.checkTileSize(type.shape, loc)) return Value::error();
  ExprPtr e = ctx.make(Op::Concat, type, loc, std::move(args));
  e->ints = {*axis};
  return Value::of(std::move(e));
}

Value joined(Elaborator &ctx, std::vector<Value> parts, size_t axis, Range loc) {
  Type type = parts[0].type();
  type.shape[axis] = 0;
  std::vector<ExprPtr> args;
  for (Value &part : parts) {
    if (part.isError()) return Value::error();
    type.shape[axis] += part.shape[axis];
    args.push_back(ctx.take(std::move(part), loc));
  }
  ExprPtr e = ctx.make(Op::Concat, type, loc, std::move(args));
  e->ints = {static_cast<int64_t>(axis)};
  return Value::of(std::move(e));
}

} // namespace tessera::frontend::rules
