// Parts of tiles: x[0:16, 3], assignments to them, join, interleave, split.
#include "compiler/frontend/sema/CallRules.h"

namespace tessera::frontend::rules {

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
  v = ctx.fillMasked(std::move(v), std::move(zero), loc);
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
                    std::string("convert the value: ts.tile.cast(VALUE, ts.") + name(x.dtype) + ")");
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

} // namespace tessera::frontend::rules
