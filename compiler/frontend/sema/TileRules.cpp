// Functions that make, reshape, reduce and multiply tiles.
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
  if (fill.dtype != *t && !fill.weak)
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
                    std::string("convert it with ts.tile.cast(value, ts.") + name(x.dtype) + ")");
  value = ctx.convert(std::move(value), x.dtype, fill.loc);
  if (value.isError()) return value;
  Type type = x.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(x), fill.loc));
  args.push_back(ctx.take(std::move(value), fill.loc));
  return Value::of(ctx.make(Op::FillMasked, type, fill.loc, std::move(args)));
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

Value reduceAxis(Elaborator &ctx, Op op, Value v, int64_t axis, Range loc) {
  Type type = v.type();
  type.shape.erase(type.shape.begin() + axis);
  if (type.shape.empty()) type.kind = Type::Scalar;
  if (op == Op::ArgMax || op == Op::ArgMin) type.dtype = DType::I32;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  ExprPtr e = ctx.make(op, type, loc, std::move(args));
  e->ints = {axis};
  return Value::of(std::move(e));
}

namespace {

/// What is taken along one axis of a tile.
struct Part {
  int64_t offset, extent;
  bool isDropped; // by an integer
};

Value slicedTo(Elaborator &ctx, Value v, const std::vector<Part> &parts, Range loc) {
  Type type = v.type();
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < parts.size(); ++i) {
    type.shape[i] = parts[i].extent;
    offsets.push_back(parts[i].offset);
  }
  if (type.shape == v.shape) return v;
  const bool weak = v.weak, wide = v.wide;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  ExprPtr e = ctx.make(Op::SliceTile, type, loc, std::move(args));
  e->ints = std::move(offsets);
  Value out = Value::of(std::move(e), weak);
  out.wide = wide;
  return out;
}

/// Reads one index. Returns false after an error.
bool readPart(Elaborator &ctx, const ast::Expr &item, int64_t extent, Part &out) {
  auto position = [&](const ast::Expr *e, int64_t otherwise) -> std::optional<int64_t> {
    if (!e) return otherwise;
    std::optional<int64_t> at = ctx.staticInt(*e, "a position in a tile");
    return at && *at < 0 ? *at + extent : at;
  };
  const std::string axis = " is outside an axis of " + std::to_string(extent);
  if (item.kind != ast::Expr::Slice) {
    std::optional<int64_t> at = position(&item, 0);
    if (!at) return false;
    out = {*at, 1, true};
    if (*at >= 0 && *at < extent) return true;
    ctx.fail(Code::E_INDEX, item.loc, "position " + std::to_string(*at) + axis);
    return false;
  }
  std::optional<int64_t> lo = position(item.items[0].get(), 0), hi = position(item.items[1].get(), extent);
  std::optional<int64_t> step = item.items[2] ? ctx.staticInt(*item.items[2], "the step of a slice") : 1;
  if (!lo || !hi || !step) return false;
  out = {*lo, *hi - *lo, false};
  if (*step != 1) {
    ctx.fail(Code::E_INDEX, item.loc, "a slice of a tile has step 1, found " + std::to_string(*step));
    return false;
  }
  if (*lo >= 0 && *lo < *hi && *hi <= extent) return true;
  ctx.fail(Code::E_INDEX, item.loc,
           *lo >= *hi ? "a slice of a tile has at least one element"
                      : std::to_string(*lo) + ":" + std::to_string(*hi) + axis);
  return false;
}

} // namespace

Value reshaped(Elaborator &ctx, Value v, std::vector<int64_t> shape, Range loc) {
  Type type = v.type();
  type.shape = std::move(shape);
  const bool weak = v.weak, wide = v.wide;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  Value out = Value::of(ctx.make(Op::Reshape, type, loc, std::move(args)), weak);
  out.wide = wide;
  return out;
}

Value partOf(Elaborator &ctx, Value v, size_t axis, int64_t offset, int64_t extent, Range loc) {
  if (v.isError()) return v;
  std::vector<Part> parts;
  for (int64_t n : v.shape)
    parts.push_back({0, n, false});
  parts[axis] = {offset, extent, false};
  return slicedTo(ctx, std::move(v), parts, loc);
}

Value onlyElement(Elaborator &ctx, Value v, Range loc) {
  const DType dtype = v.dtype;
  if (dtype == DType::Bool) v = ctx.cast(std::move(v), DType::I32, loc);
  Value zero = ctx.convert(isFloat(v.dtype) ? Value::real(0) : Value::integer(0), v.dtype, loc);
  Type type = v.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  args.push_back(ctx.take(std::move(zero), loc));
  v = Value::of(ctx.make(Op::FillMasked, type, loc, std::move(args)));
  return ctx.cast(reduceAxis(ctx, Op::Max, std::move(v), 0, loc), dtype, loc);
}

namespace {

/// x[0:16, None, 3]: what is taken of each axis, and what the result has.
struct Parts {
  std::vector<Part> axes;
  std::vector<int64_t> shape; // of the result, without the axes that None adds
  std::vector<int> added;     // axes of the result that None adds
  bool drops = false;         // has an integer
};

bool readParts(Elaborator &ctx, const std::vector<int64_t> &extents, const ast::Expr &e, Parts &out) {
  for (size_t i = 1; i < e.items.size(); ++i) {
    if (e.items[i]->kind == ast::Expr::None) {
      out.added.push_back(static_cast<int>(out.shape.size() + out.added.size()));
      continue;
    }
    if (out.axes.size() == extents.size()) {
      ctx.fail(Code::E_INDEX, e.loc,
               "more axes are indexed than the tile has, whose shape is " + shapeText(extents),
               "None adds an axis: x[:, None]");
      return false;
    }
    Part part;
    if (!readPart(ctx, *e.items[i], extents[out.axes.size()], part)) return false;
    out.axes.push_back(part);
    out.drops |= part.isDropped;
    if (!part.isDropped) out.shape.push_back(part.extent);
  }
  while (out.axes.size() < extents.size()) {
    out.axes.push_back({0, extents[out.axes.size()], false});
    out.shape.push_back(out.axes.back().extent);
  }
  return true;
}

} // namespace

Value indexed(Elaborator &ctx, Value v, const ast::Expr &e) {
  Parts read;
  if (!readParts(ctx, v.shape, e, read)) return Value::error();
  auto &[parts, shape, added, drops] = read;
  v = slicedTo(ctx, std::move(v), parts, e.loc);
  const bool isElement = drops && shape.empty();
  if (drops) v = reshaped(ctx, std::move(v), isElement ? std::vector<int64_t>{1} : shape, e.loc);
  if (isElement && added.empty()) return onlyElement(ctx, std::move(v), e.loc);
  if (isElement) added.pop_back(); // one axis of extent 1 is there
  for (int axis : added)
    v = ctx.expandDims(std::move(v), axis, e.loc);
  return v;
}

/// Is the position along one axis inside the part? Of the shape (1, .., extent, .., 1), or null if it always
/// is.
static Value isInside(Elaborator &ctx, const Part &part, size_t axis, size_t rank, int64_t extent,
                      Range loc) {
  if (part.extent == extent) return Value::none();
  std::vector<ExprPtr> args;
  args.push_back(ctx.constInt(0, loc, DType::I32));
  const Value at = Value::of(ctx.make(Op::Arange, {Type::Tile, DType::I32, {extent}}, loc, std::move(args)));
  auto compare = [&](Op op, int64_t bound) {
    return ctx.binary(op, at, Value::integer(bound, DType::I32, false), loc);
  };
  Value inside;
  const int64_t end = part.offset + part.extent;
  if (part.extent == 1)
    inside = compare(Op::Eq, part.offset);
  else if (part.offset == 0)
    inside = compare(Op::Lt, end);
  else if (end == extent)
    inside = compare(Op::Ge, part.offset);
  else
    inside = ctx.binary(Op::And, compare(Op::Ge, part.offset), compare(Op::Lt, end), loc);
  for (size_t i = axis + 1; i < rank; ++i)
    inside = ctx.expandDims(std::move(inside), static_cast<int>(i - axis), loc);
  return inside;
}

/// The tile in which the part, from `axis` on, is replaced by `v`: what is before it, the part, and what is
/// after it are joined along each axis.
static Value replaced(Elaborator &ctx, const Value &x, const std::vector<Part> &parts, size_t axis,
                      const Value &v, Range loc) {
  if (axis == parts.size()) return v;
  const int64_t extent = x.shape[axis];
  std::vector<Part> whole;
  for (int64_t n : x.shape)
    whole.push_back({0, n, false});
  auto slice = [&](int64_t from, int64_t to) {
    whole[axis] = {from, to - from, false};
    return slicedTo(ctx, x, whole, loc);
  };
  const Part &part = parts[axis];
  const int64_t end = part.offset + part.extent;
  std::vector<ExprPtr> args;
  if (part.offset > 0) args.push_back(ctx.take(slice(0, part.offset), loc));
  args.push_back(ctx.take(replaced(ctx, slice(part.offset, end), parts, axis + 1, v, loc), loc));
  if (end < extent) args.push_back(ctx.take(slice(end, extent), loc));
  if (args.size() == 1) return Value::of(std::move(args[0]));
  ExprPtr e = ctx.make(Op::Concat, x.type(), loc, std::move(args));
  e->ints = {static_cast<int64_t>(axis)};
  return Value::of(std::move(e));
}

Value withPart(Elaborator &ctx, Value x, const ast::Expr &e, Value v, Range loc) {
  Parts read;
  v = ctx.asOperand(std::move(v), loc);
  if (v.isError() || !readParts(ctx, x.shape, e, read)) return Value::error();
  if (!v.converts(x.dtype))
    return ctx.fail(Code::E_STORE_TYPE, loc,
                    "the tile holds " + std::string(name(x.dtype)) + ", but " + describe(v) + " is assigned",
                    std::string("convert it with ts.tile.cast(x, ts.") + name(x.dtype) + ")");
  v = ctx.convert(std::move(v), x.dtype, loc);
  if (!read.added.empty())
    return ctx.fail(Code::E_INDEX, e.loc, "None adds an axis where a tile is read, not where it is assigned");
  // Its axes of extent 1 are those of the part.
  std::vector<int64_t> shape;
  const size_t own = v.shape.size();
  if (own > read.shape.size()) v = ctx.broadcastTo(std::move(v), read.shape, loc); // an error
  if (v.isError()) return v;
  bool isSpread = true; // each axis of v is 1, or that of the whole tile
  size_t kept = 0;
  for (size_t i = 0; i < read.axes.size(); ++i) {
    int64_t n = 1;
    if (!read.axes[i].isDropped) {
      const size_t fromLast = read.shape.size() - kept++;
      n = fromLast <= own ? v.shape[own - fromLast] : 1;
    }
    isSpread &= n == 1 || n == x.shape[i];
    shape.push_back(n);
  }
  if (!read.shape.empty()) {
    Value fits = ctx.broadcastTo(v, read.shape, loc);
    if (fits.isError()) return fits;
    if (!isSpread) v = std::move(fits);
  }
  if (!isSpread) {
    std::vector<int64_t> part;
    for (const Part &p : read.axes)
      part.push_back(p.extent);
    x = ctx.toVariable(std::move(x), "tile", loc);
    return replaced(ctx, x, read.axes, 0,
                    part == v.shape ? std::move(v) : reshaped(ctx, std::move(v), part, loc), loc);
  }
  if (v.isTile() && v.shape != shape) v = reshaped(ctx, std::move(v), shape, loc);
  Value inside = Value::none();
  for (size_t i = 0; i < read.axes.size(); ++i) {
    Value one = isInside(ctx, read.axes[i], i, read.axes.size(), x.shape[i], loc);
    if (one.kind == Value::None) continue;
    inside = inside.kind == Value::None ? std::move(one)
                                        : ctx.binary(Op::And, std::move(inside), std::move(one), loc);
  }
  v = ctx.broadcastTo(std::move(v), x.shape, loc);
  return inside.kind == Value::None ? std::move(v)
                                    : ctx.where(std::move(inside), std::move(v), std::move(x), loc, loc);
}

/// Two tiles of one shape and dtype; false after an error.
static bool pairOfTiles(Elaborator &ctx, const KernelCall &a, Value &x, Value &y) {
  x = tileArgument(ctx, *a[0], a.function.name);
  y = tileArgument(ctx, *a[1], a.function.name);
  if (x.isError() || y.isError()) return false;
  if (!ctx.unify(x, y, a.loc, a.function.name) || !ctx.broadcastPair(x, y, a.loc)) return false;
  return true;
}

static Value joinedLast(Elaborator &ctx, Value x, Value y, Range loc) {
  const int rank = static_cast<int>(x.shape.size());
  Type type = x.type();
  type.shape.push_back(2);
  if (!ctx.checkTileSize(type.shape, loc)) return Value::error();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(ctx.expandDims(std::move(x), rank, loc), loc));
  args.push_back(ctx.take(ctx.expandDims(std::move(y), rank, loc), loc));
  ExprPtr e = ctx.make(Op::Concat, type, loc, std::move(args));
  e->ints = {rank};
  return Value::of(std::move(e));
}

Value join(Elaborator &ctx, const KernelCall &a) {
  Value x, y;
  return pairOfTiles(ctx, a, x, y) ? joinedLast(ctx, std::move(x), std::move(y), a.loc) : Value::error();
}

Value interleave(Elaborator &ctx, const KernelCall &a) {
  Value x, y;
  if (!pairOfTiles(ctx, a, x, y)) return Value::error();
  std::vector<int64_t> shape = x.shape;
  shape.back() *= 2;
  Value v = joinedLast(ctx, std::move(x), std::move(y), a.loc);
  return v.isError() ? std::move(v) : reshaped(ctx, std::move(v), shape, a.loc);
}

Value split(Elaborator &ctx, const KernelCall &a) {
  Value x = tileArgument(ctx, *a[0], "split");
  if (x.isError()) return x;
  const bool isJoined = !a[1]; // the two halves of a last axis of 2, without it
  const std::optional<int64_t> count = isJoined ? 2 : ctx.staticInt(*a[1], "the number of parts");
  const std::optional<int64_t> axis =
      isJoined ? static_cast<int64_t>(x.shape.size()) - 1 : ctx.staticAxis(a[2], x.shape.size(), 0);
  if (!count || !axis) return Value::error();
  const auto at = static_cast<size_t>(*axis);
  const int64_t extent = x.shape[at];
  if (isJoined && (extent != 2 || x.shape.size() < 2))
    return ctx.fail(Code::E_SHAPE, a.loc,
                    "'split' without a number of parts takes a tile with a last axis of 2, found " +
                        describe(x),
                    "write ts.tile.split(x, 2, axis=-1)");
  if (*count < 1 || extent % *count != 0)
    return ctx.fail(Code::E_SHAPE, a[1]->loc,
                    "an axis of " + std::to_string(extent) + " has no " + std::to_string(*count) +
                        " equal parts");
  x = ctx.settled(std::move(x), "whole", a.loc);
  std::vector<Part> parts;
  for (int64_t n : x.shape)
    parts.push_back({0, n, false});
  std::vector<Value> out;
  for (int64_t i = 0; i < *count; ++i) {
    parts[at] = {i * (extent / *count), extent / *count, false};
    Value part = slicedTo(ctx, x, parts, a.loc);
    if (isJoined) {
      std::vector<int64_t> shape = x.shape;
      shape.pop_back();
      part = reshaped(ctx, std::move(part), shape, a.loc);
    }
    out.push_back(std::move(part));
  }
  return Value::tuple(std::move(out));
}

/// Sums of narrow floats are computed in f32, or in f64 if @accum asks for it, and rounded once; sums of
/// bools and narrow integers are i32.
static DType sumDType(const Value &v) {
  if (isFloat(v.dtype))
    return v.accum == DType::F64 || v.dtype == DType::F64 ? DType::F64
           : v.dtype == DType::TF32                       ? DType::TF32
                                                          : DType::F32;
  return info(v.dtype).bits < 32 ? DType::I32 : v.dtype;
}

bool checkAccumulator(Elaborator &ctx, const Value &v, Range loc) {
  if (!v.accum || isFloat(v.dtype)) return true;
  ctx.fail(Code::E_POLICY, loc,
           std::string("@accum(") + name(*v.accum) + ") does not apply to integers, whose sums are integers",
           "remove the policy, or cast to " + std::string(name(*v.accum)) + " first");
  return false;
}

Value reduce(Elaborator &ctx, const KernelCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  const Op op = *b.op;
  const size_t keepdims = a.at.size() - 1;
  const bool isRow = keepdims == 1; // without an axis argument
  Value v = ctx.operand(*a[0]);
  if (v.isError()) return v;
  if (!v.isTile())
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    std::string("'") + b.name + "' takes a tile, found " + describe(v),
                    b.id == FunctionId::Max   ? "the larger of two values is ts.tile.maximum(a, b)"
                    : b.id == FunctionId::Min ? "the smaller of two values is ts.tile.minimum(a, b)"
                                              : "");
  auto rank = static_cast<int64_t>(v.shape.size());
  std::optional<int64_t> axis = isRow ? rank - 1 : ctx.staticAxis(a[1], v.shape.size(), -1);
  if (!axis) return Value::error();
  Value keep = ctx.evaluate(*a[keepdims]);
  if (keep.isError()) return keep;
  if (!keep.isScalar() || !keep.isConst)
    return ctx.fail(Code::E_CONSTANT, a[keepdims]->loc, "keepdims is True or False");
  const bool keepsDims = keep.intValue != 0;
  bool isArg = op == Op::ArgMax || op == Op::ArgMin;
  if (v.dtype == DType::Bool && op != Op::Sum && op != Op::Prod)
    return ctx.fail(Code::E_TYPE, loc, std::string("'") + b.name + "' takes numbers, not bool",
                    "cast to ts.i32 first");

  DType original = v.dtype;
  if (op == Op::Sum || op == Op::Prod) {
    if (!checkAccumulator(ctx, v, a[0]->loc)) return Value::error();
    DType in = sumDType(v); // read before v is moved from
    v = ctx.cast(std::move(v), in, loc);
  }
  size_t fullRank = v.shape.size();
  if (*axis >= 0) {
    v = reduceAxis(ctx, op, std::move(v), *axis, loc);
    if (keepsDims && v.isTile())
      v = ctx.expandDims(std::move(v), static_cast<int>(*axis), loc);
    else if (keepsDims)
      v = ctx.broadcastTo(std::move(v), {1}, loc);
  } else {
    if (isArg && v.shape.size() > 1) { // the index into the flattened tile, as in NumPy
      int64_t count = 1;
      for (int64_t n : v.shape)
        count *= n;
      Type flat{Type::Tile, v.dtype, {count}};
      std::vector<ExprPtr> args;
      args.push_back(ctx.take(std::move(v), loc));
      v = Value::of(ctx.make(Op::Reshape, flat, loc, std::move(args)));
    }
    while (v.isTile()) {
      int64_t last = static_cast<int64_t>(v.shape.size()) - 1; // read before v is moved from
      v = reduceAxis(ctx, op, std::move(v), last, loc);
    }
    if (keepsDims) v = ctx.broadcastTo(std::move(v), std::vector<int64_t>(fullRank, 1), loc);
  }
  if ((op == Op::Sum || op == Op::Prod) && isFloat(original)) v = ctx.cast(std::move(v), original, loc);
  return v;
}

Value scan(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  const Op op = *a.function.op;
  Value v = ctx.operand(*a[0]);
  if (v.isError()) return v;
  if (!v.isTile()) return ctx.fail(Code::E_TYPE, a[0]->loc, "a scan takes a tile, found " + describe(v));
  if (!a[1] && v.shape.size() > 1)
    return ctx.fail(Code::E_AXIS, loc, "a scan of a tile with several axes needs axis=", "add axis=-1");
  std::optional<int64_t> axis = ctx.staticAxis(a[1], v.shape.size(), 0);
  if (!axis) return Value::error();
  const bool isSum = op == Op::CumSum || op == Op::CumProd;
  if (v.dtype == DType::Bool && !isSum)
    return ctx.fail(Code::E_TYPE, loc, std::string("'") + a.function.name + "' takes numbers, not bool");
  DType original = v.dtype;
  if (isSum) {
    if (!checkAccumulator(ctx, v, a[0]->loc)) return Value::error();
    DType in = sumDType(v); // read before v is moved from
    v = ctx.cast(std::move(v), in, loc);
  }
  v = ctx.function(op, std::move(v), loc);
  v.expr->ints = {*axis};
  if (isSum && isFloat(original)) v = ctx.cast(std::move(v), original, loc);
  return v;
}

Value mma(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value sides[2] = {ctx.evaluate(*a[0]), ctx.evaluate(*a[1])};
  bool transposed[2] = {false, false};
  std::vector<int64_t> shapes[2];
  std::optional<DType> policy;
  std::vector<ExprPtr> args;
  for (int i = 0; i < 2; ++i) {
    Value &v = sides[i];
    if (v.kind == Value::Buffer) { // .T of an operand is a flag rather than a copy
      transposed[i] = v.transposed;
      v = ctx.readBuffer(v.index, a[static_cast<size_t>(i)]->loc);
    } else {
      v = ctx.asOperand(std::move(v), a[static_cast<size_t>(i)]->loc);
      if (v.isTile() && v.expr->op == Op::Transpose && v.shape.size() == 2) {
        transposed[i] = true;
        std::optional<DType> accum = v.accum;
        v = Value::of(std::move(v.expr->args[0]));
        v.accum = accum;
      }
    }
    if (v.isError()) return v;
    if (v.shape.size() != 2)
      return ctx.fail(Code::E_MMA, a[static_cast<size_t>(i)]->loc,
                      "'mma' takes tiles with two axes, found " + describe(v));
    shapes[i] = v.shape;
    if (transposed[i]) std::swap(shapes[i][0], shapes[i][1]);
    if (v.accum) policy = v.accum;
  }
  DType t = sides[0].dtype;
  if (t != sides[1].dtype)
    return ctx.fail(Code::E_MMA, loc,
                    std::string("the operands of 'mma' have dtypes ") + name(t) + " and " +
                        name(sides[1].dtype) + "; they must agree",
                    "cast one of them with ts.tile.cast");
  if (shapes[0][1] != shapes[1][0])
    return ctx.fail(Code::E_MMA, loc,
                    "'mma' multiplies MxK by KxN, found " + shapeText(shapes[0]) + " by " +
                        shapeText(shapes[1]),
                    shapes[0][1] == shapes[1][1] ? "transpose the second operand with .T" : "");
  if (!isFloat(t) && t != DType::I8 && t != DType::U8)
    return ctx.fail(Code::E_MMA, loc, std::string("'mma' takes floats, i8 or u8, not ") + name(t),
                    "cast the operands to ts.i8 or ts.f32");
  DType natural = t == DType::F64 ? DType::F64 : isFloat(t) ? DType::F32 : DType::I32;
  if (policy && isFloat(t)) natural = *policy;

  DType acc = natural;
  if (a[3]) {
    std::optional<DType> asked = ctx.staticDType(*a[3]);
    if (!asked) return Value::error();
    acc = *asked;
    bool legal = isFloat(t) ? acc == natural || (acc == DType::F64 && t == DType::F32) : acc == DType::I32;
    if (!legal)
      return ctx.fail(Code::E_MMA, a[3]->loc,
                      std::string("'mma' of ") + name(t) + " accumulates in " + name(natural) + ", not " +
                          name(acc));
  }
  std::vector<int64_t> shape = {shapes[0][0], shapes[1][1]};
  if (!ctx.checkTileSize(shape, loc)) return Value::error();
  Value start;
  if (a[2]) {
    start = ctx.evaluate(*a[2]);
    if (start.kind != Value::None) {
      start = ctx.asOperand(std::move(start), a[2]->loc);
      if (start.isError()) return start;
      if (a[2] && !a[3] && isFloat(t) && start.dtype == DType::F64 && t == DType::F32) acc = DType::F64;
      if (!start.isTile() || start.shape != shape || start.dtype != acc)
        return ctx.fail(Code::E_MMA, a[2]->loc,
                        "the accumulator of this 'mma' is a " + std::string(name(acc)) + " tile " +
                            shapeText(shape) + ", found " + describe(start));
    }
  }
  for (int i = 0; i < 2; ++i)
    args.push_back(ctx.take(std::move(sides[i]), a[static_cast<size_t>(i)]->loc));
  if (start.isTile()) args.push_back(ctx.take(std::move(start), loc));
  ExprPtr e = ctx.make(Op::Mma, {Type::Tile, acc, shape}, loc, std::move(args));
  e->ints = {transposed[0], transposed[1]};
  return Value::of(std::move(e));
}

Value causalMask(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value scores = ctx.operand(*a[0]), q0 = ctx.operand(*a[1]), k0 = ctx.operand(*a[2]);
  if (scores.isError() || q0.isError() || k0.isError()) return Value::error();
  if (!scores.isTile() || scores.shape.size() != 2 || !isFloat(scores.dtype))
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    "'causal_mask' takes a float tile with two axes, found " + describe(scores));
  if (!q0.isIntScalar() || !k0.isIntScalar())
    return ctx.fail(Code::E_TYPE, loc,
                    "'causal_mask' takes the positions of the tile's first query and key, two integers");
  Type type = scores.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(scores), loc));
  args.push_back(ctx.indexExpr(q0, loc));
  args.push_back(ctx.indexExpr(k0, loc));
  return Value::of(ctx.make(Op::CausalMask, type, loc, std::move(args)));
}

Value groupReduce(Elaborator &ctx, const KernelCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  Value v = ctx.strengthen(ctx.operand(*a[0]));
  if (v.isError()) return v;
  if (v.isTile() || v.dtype == DType::Bool)
    return ctx.fail(Code::E_TYPE, a[0]->loc,
                    std::string("'group.") + b.name + "' takes a number of each lane, found " + describe(v),
                    std::string("reduce a tile with ts.tile.") + b.name);
  Type type = v.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(v), loc));
  ExprPtr e = ctx.make(Op::GroupReduce, type, loc, std::move(args));
  e->text = b.name;
  return Value::of(std::move(e));
}

} // namespace tessera::frontend::rules
