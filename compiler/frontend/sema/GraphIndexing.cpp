// Functions of graph functions that move elements: gathers by index, reversals, repetitions, borders.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>
#include <numeric>

namespace tessera::frontend {

/// Each element's position along an axis of `dims`, as i32.
Value Elaborator::graphPosition(const Dims &dims, int64_t axis, Range loc) {
  Value v = graphValue(GraphOp::Iota, DType::I32, dims, loc);
  if (!v.isError()) graphLast().ints = {axis};
  return v;
}

/// The elements of `table` in a tensor of `dims`: along[d] is the axis whose position axis d of the table
/// shares, or -1 where the next index selects. Indices broadcast to `dims`.
Value Elaborator::graphGather(const Value &table, const std::vector<Value> &indices,
                              std::vector<int64_t> along, Dims dims, Range loc) {
  std::vector<int> args = {graphNode(table, loc)};
  for (const Value &index : indices) {
    if (index.isError()) return Value::error();
    args.push_back(graphNode(index, loc));
  }
  Value v = graphValue(GraphOp::Gather, table.dtype, std::move(dims), loc, std::move(args));
  if (!v.isError()) graphLast().ints = std::move(along);
  return v;
}

/// The elements in reverse order along these axes.
Value Elaborator::graphReverse(Value v, const std::vector<int64_t> &axes, Range loc) {
  if (v.isError() || axes.empty()) return v;
  const Dims dims = graphDims(v);
  std::vector<int64_t> steps(dims.size(), 1);
  std::vector<std::string> starts(dims.size(), "0");
  for (int64_t axis : axes) {
    const auto d = static_cast<size_t>(axis);
    std::optional<DimExpr> last = subtract(dims[d], 1);
    if (!last) return fail(Code::E_SHAPE, loc, "this extent is too long an expression");
    steps[d] = -1;
    starts[d] = last->text();
  }
  return graphBox(std::move(v), dims, std::move(starts), std::move(steps), loc);
}

namespace rules {

namespace {

std::vector<int64_t> allAxes(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// The axes that an argument names, in order; all of them if it is None.
bool axesOrAll(Elaborator &ctx, GraphCall &a, size_t i, size_t rank, std::vector<int64_t> &axes) {
  if (a.given(i) && a[i].kind != Value::None) return ctx.graphAxes(a[i], a.locOf(i), rank, axes);
  axes = allAxes(rank);
  return true;
}

/// Checks that an argument is a tensor of indices.
bool isIndices(Elaborator &ctx, GraphCall &a, size_t i, size_t minRank = 0) {
  if (a[i].isError() || !ctx.graphTensor(a[i], a.locOf(i), minRank)) return false;
  if (a[i].dtype == DType::I32 || a[i].dtype == DType::I64) return true;
  ctx.fail(Code::E_TYPE, a.locOf(i),
           std::string("the indices of '") + a.function.name + "' are i32 or i64, found " + describe(a[i]),
           "convert them with ts.cast(indices, ts.i32)");
  return false;
}

/// The elements of a tensor, without its shape.
Value flattened(Elaborator &ctx, Value v, Range loc) {
  std::optional<DimExpr> count = DimExpr(1);
  for (const DimExpr &d : ctx.graphDims(v))
    if (count) count = multiply(*count, d);
  if (!count) return ctx.fail(Code::E_SHAPE, loc, "the size of this tensor has no short expression");
  return ctx.graphReshapeTo(std::move(v), {*count}, loc);
}

/// The indices of a gather along one axis, with an axis of extent 1 for each axis of the table after it.
Value alongAxis(Elaborator &ctx, const Value &table, Value indices, size_t axis, Range loc) {
  const Dims from = ctx.graphDims(table), ids = ctx.graphDims(indices);
  Dims dims(from.begin(), from.begin() + static_cast<ptrdiff_t>(axis)), spread = ids;
  dims.insert(dims.end(), ids.begin(), ids.end());
  dims.insert(dims.end(), from.begin() + static_cast<ptrdiff_t>(axis) + 1, from.end());
  spread.resize(ids.size() + from.size() - 1 - axis, DimExpr(1));
  std::vector<int64_t> along = allAxes(from.size());
  along[axis] = -1;
  for (size_t d = axis + 1; d < from.size(); ++d)
    along[d] = static_cast<int64_t>(d + ids.size()) - 1;
  if (spread.size() != ids.size()) indices = ctx.graphReshapeTo(std::move(indices), std::move(spread), loc);
  return ctx.graphGather(table, {std::move(indices)}, std::move(along), std::move(dims), loc);
}

} // namespace

Value graphGather(Elaborator &ctx, GraphCall &a) {
  if (a[1].isIntScalar()) a[1] = ctx.graphBroadcastTo(ctx.strengthen(std::move(a[1])), {}, a.locOf(1));
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1) || !isIndices(ctx, a, 1)) return Value::error();
  return alongAxis(ctx, a[0], std::move(a[1]), 0, a.loc);
}

Value graphTake(Elaborator &ctx, GraphCall &a) {
  if (a[1].isIntScalar()) a[1] = ctx.graphBroadcastTo(ctx.strengthen(std::move(a[1])), {}, a.locOf(1));
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1) || !isIndices(ctx, a, 1)) return Value::error();
  std::optional<int64_t> axis = ctx.graphAxis(a[2], a.locOf(2), ctx.graphDims(a[0]).size());
  return axis ? alongAxis(ctx, a[0], std::move(a[1]), static_cast<size_t>(*axis), a.loc) : Value::error();
}

Value graphTakeAlong(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1) || !isIndices(ctx, a, 1)) return Value::error();
  const Dims table = ctx.graphDims(a[0]), dims = ctx.graphDims(a[1]);
  std::optional<int64_t> axis = ctx.graphAxis(a[2], a.locOf(2), table.size());
  if (!axis) return Value::error();
  if (table.size() != dims.size())
    return ctx.fail(Code::E_SHAPE, loc,
                    std::string("'") + a.function.name + "' takes indices of the tensor's rank, found " +
                        ctx.graphName(a[0]) + " and indices " + ctx.graphName(a[1]));
  std::vector<Value> indices;
  std::vector<int64_t> along = allAxes(table.size());
  for (size_t d = 0; d < table.size(); ++d) {
    if (static_cast<int64_t>(d) == *axis) {
      indices.push_back(a[1]);
    } else if (table[d] != dims[d]) {
      std::optional<DimExpr> rest = subtract(table[d], dims[d]);
      if (!rest) return ctx.fail(Code::E_SHAPE, loc, "these dims are too long expressions");
      if (!ctx.graphRequire(*rest, Code::E_SHAPE,
                            "the indices " + ctx.graphName(a[1]) + " are longer than " + ctx.graphName(a[0]) +
                                " along axis " + std::to_string(d),
                            loc))
        return Value::error();
      indices.push_back(ctx.graphPosition(dims, static_cast<int64_t>(d), loc));
    } else {
      continue;
    }
    along[d] = -1;
  }
  return ctx.graphGather(a[0], indices, std::move(along), dims, loc);
}

Value graphGatherNd(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  std::optional<int64_t> asked = ctx.staticInt(a[2], a.locOf(2), "the number of batch dims");
  if (a[0].isError() || !asked || !ctx.graphTensor(a[0], a.locOf(0), 1) || !isIndices(ctx, a, 1, 1))
    return Value::error();
  const Dims table = ctx.graphDims(a[0]), ids = ctx.graphDims(a[1]);
  std::optional<int64_t> count = ids.back().constant();
  const auto batch = static_cast<size_t>(std::max<int64_t>(*asked, 0));
  auto refuse = [&](const std::string &message) {
    return ctx.fail(Code::E_SHAPE, loc,
                    "'gather_nd' of " + ctx.graphName(a[0]) + " by indices " + ctx.graphName(a[1]) + ": " +
                        message,
                    "the last axis of the indices has one number for each axis they select");
  };
  if (!count) return refuse("the last extent of the indices is not known when compiling");
  if (*asked < 0 || batch >= ids.size() || batch > table.size())
    return refuse(std::to_string(*asked) + " batch dims are not common to both");
  if (*count < 1 || batch + static_cast<size_t>(*count) > table.size())
    return refuse(std::to_string(*count) + " numbers do not index " + std::to_string(table.size() - batch) +
                  " axes");
  for (size_t d = 0; d < batch; ++d)
    if (table[d] != ids[d])
      return refuse("batch dim " + std::to_string(d) + " is " + table[d].text() + " and " + ids[d].text());
  Dims dims(ids.begin(), ids.end() - 1);
  const size_t rest = batch + static_cast<size_t>(*count);
  std::vector<int64_t> along = allAxes(table.size()), each = allAxes(ids.size());
  for (size_t d = rest; d < table.size(); ++d) {
    along[d] = static_cast<int64_t>(dims.size());
    dims.push_back(table[d]);
  }
  std::fill(along.begin() + static_cast<ptrdiff_t>(batch), along.begin() + static_cast<ptrdiff_t>(rest), -1);
  each.back() = -1;
  std::vector<Value> indices;
  for (int64_t k = 0; k < *count; ++k)
    indices.push_back(ctx.graphGather(a[1], {Value::integer(k, DType::I64, false)}, each, dims, loc));
  return ctx.graphGather(a[0], indices, std::move(along), std::move(dims), loc);
}

Value graphFlip(Elaborator &ctx, GraphCall &a) {
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  std::vector<int64_t> axes;
  if (!axesOrAll(ctx, a, 1, ctx.graphDims(a[0]).size(), axes)) return Value::error();
  return ctx.graphReverse(std::move(a[0]), axes, a.loc);
}

namespace {

/// `x` with its elements `shift` places further along one axis: the last `shift` of them, modulo the extent,
/// before the others. An extent of 0 counts as 1, so that the modulus is defined.
Value rolled(Elaborator &ctx, const GraphCall &a, const Value &x, size_t axis, const DimExpr &shift) {
  const Dims dims = ctx.graphDims(x);
  std::optional<DimExpr> back = apply("max", dims[axis], DimExpr(1));
  if (back) back = apply("mod", shift, *back);
  std::optional<DimExpr> front = back ? subtract(dims[axis], *back) : back;
  if (!front) return ctx.fail(Code::E_SHAPE, a.loc, "the shift of 'roll' is too long an expression");
  if (back->constant() == 0) return ctx.graphReshapeTo(x, dims, a.loc);
  auto part = [&](const DimExpr &start, const DimExpr &extent) {
    Dims of = dims;
    of[axis] = extent;
    std::vector<std::string> starts(dims.size(), "0");
    starts[axis] = start.text();
    return ctx.graphBox(x, std::move(of), std::move(starts), {}, a.loc);
  };
  GraphCall join{*findFunction("tessera.op", "concat"), a.source, a.loc, {}, {a.locOf(0), a.loc}};
  join.values.emplace_back(Value::tuple({part(*front, *back), part(DimExpr(0), *front)}));
  join.values.emplace_back(Value::integer(static_cast<int64_t>(axis)));
  return graphConcat(ctx, join);
}

} // namespace

Value graphRoll(Elaborator &ctx, GraphCall &a) {
  if (a[0].isError() || a[1].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  Value x = std::move(a[0]);
  const Dims dims = ctx.graphDims(x);
  const bool isRow = !a.given(2) || a[2].kind == Value::None;
  auto items = [](const Value &v) { return v.kind == Value::Tuple ? v.items : std::vector<Value>{v}; };
  const std::vector<Value> axes = isRow ? std::vector{Value::integer(0)} : items(a[2]);
  std::vector<Value> shifts = items(a[1]);
  if (shifts.size() == 1) shifts.resize(axes.size(), shifts[0]);
  if (shifts.size() != axes.size())
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(1),
                    "'roll' takes one shift, or one for each axis: found " + std::to_string(shifts.size()) +
                        " for " + std::to_string(axes.size()),
                    "write ts.roll(x, (1, 2), axis=(0, 1))");
  if (isRow) x = ctx.graphReshape(std::move(x), Value::integer(-1), a.loc, a.loc);
  for (size_t i = 0; i < axes.size() && !x.isError(); ++i) {
    std::optional<int64_t> axis = ctx.graphAxis(axes[i], a.locOf(2), isRow ? 1 : dims.size());
    std::optional<DimExpr> shift = ctx.graphDimOf(shifts[i], a.locOf(1), "a shift");
    if (!axis || !shift) return Value::error();
    x = rolled(ctx, a, x, static_cast<size_t>(*axis), *shift);
  }
  return isRow ? ctx.graphReshapeTo(std::move(x), dims, a.loc) : std::move(x);
}

namespace {

/// The numbers of elements before and after `x` along each axis.
bool readWidths(Elaborator &ctx, GraphCall &a, size_t rank, std::vector<std::pair<DimExpr, DimExpr>> &out) {
  const Value &v = a[1];
  if (v.isError()) return false;
  auto isPair = [](const Value &p) { return p.kind == Value::Tuple && p.items.size() == 2; };
  auto isNumber = [](const Value &p) { return p.kind != Value::Tuple; };
  auto read = [&](const Value &before, const Value &after) {
    std::optional<DimExpr> lo = ctx.graphDimOf(before, a.locOf(1), "a width"),
                           hi = lo ? ctx.graphDimOf(after, a.locOf(1), "a width") : lo;
    if (!lo || !hi) return false;
    for (const DimExpr &width : {*lo, *hi})
      if (!ctx.graphRequire(width, Code::E_SHAPE, "a width of 'pad' cannot be " + width.text(), a.locOf(1)))
        return false;
    out.emplace_back(*lo, *hi);
    return true;
  };
  if (isNumber(v) || (isPair(v) && isNumber(v.items[0]) && isNumber(v.items[1]))) {
    const bool one = isNumber(v);
    if (!read(one ? v : v.items[0], one ? v : v.items[1])) return false;
    out.resize(rank, out[0]);
    return true;
  }
  if (v.items.size() == rank && std::ranges::all_of(v.items, isPair))
    return std::ranges::all_of(v.items, [&](const Value &p) { return read(p.items[0], p.items[1]); });
  ctx.fail(Code::E_SHAPE, a.locOf(1),
           "the widths of 'pad' are a number, a pair (before, after), or one pair for each of the " +
               std::to_string(rank) + " axes of " + ctx.graphName(a[0]),
           "write ts.pad(x, ((0, 0), (1, 2)))");
  return false;
}

/// The value of a border, in the tensor's dtype.
Value borderValue(Elaborator &ctx, GraphCall &a) {
  Value fill = ctx.asOperand(std::move(a[3]), a.locOf(3));
  if (fill.isError()) return fill;
  if (!fill.isScalar() || (fill.expr && fill.expr->op != Op::ParamRef))
    return ctx.fail(Code::E_CONSTANT, a.locOf(3),
                    "the value of 'pad' is a constant or a scalar parameter, found " + describe(fill),
                    "pad with 0, and choose the value with ts.where");
  const bool isZero = fill.isConst && !isFloat(fill.dtype) && fill.intValue == 0;
  if (a[0].dtype == DType::Bool && isZero && fill.dtype != DType::Bool)
    return ctx.cast(std::move(fill), DType::Bool, a.loc);
  if (!fill.converts(a[0].dtype))
    return ctx.fail(Code::E_TYPE_MIX, a.locOf(3),
                    "'pad' of " + describe(a[0]) + " takes a value of its dtype, found " + describe(fill));
  return ctx.convert(std::move(fill), a[0].dtype, a.loc);
}

} // namespace

/// A border of up to this many boxes of extent 1 along its axis is that many parts: they are contiguous, as
/// the tensor itself is, where a box with a step is not.
static constexpr int64_t kMostSingleBoxes = 8;

Value graphPad(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1)) return Value::error();
  const Dims from = ctx.graphDims(a[0]);
  std::vector<std::pair<DimExpr, DimExpr>> widths;
  if (!readWidths(ctx, a, from.size(), widths)) return Value::error();
  static const char *const kModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
  const auto *mode =
      std::ranges::find_if(kModes, [&](const char *m) { return a[2].kind == Value::Str && a[2].text == m; });
  if (a[2].isError()) return Value::error();
  if (mode == std::end(kModes))
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(2),
                    "the mode of 'pad' is \"constant\", \"edge\", \"reflect\", \"symmetric\" or \"wrap\"");
  const std::string name = *mode;
  Dims dims;
  std::vector<std::string> low;
  for (size_t d = 0; d < from.size(); ++d) {
    std::optional<DimExpr> sum = add(from[d], widths[d].first);
    if (sum) sum = add(*sum, widths[d].second);
    if (!sum) return ctx.fail(Code::E_SHAPE, loc, "the padded extent is too long an expression");
    dims.push_back(*sum);
    low.push_back(widths[d].first.text());
  }
  if (name == "constant") {
    Value fill = borderValue(ctx, a);
    if (fill.isError()) return fill;
    int x = ctx.graphNode(a[0], loc), y = ctx.graphNode(fill, loc);
    Value r = ctx.graphValue(GraphOp::Pad, a[0].dtype, std::move(dims), loc, {x, y});
    if (!r.isError()) ctx.graphLast().texts = std::move(low);
    return r;
  }
  // One axis after the other: its borders, which are slices, and what they surround.
  Value x = std::move(a[0]);
  for (size_t d = 0; d < from.size(); ++d) {
    if (dims[d] == from[d]) continue;
    Dims here = ctx.graphDims(x);
    here[d] = dims[d];
    // The largest border: everything but the edge itself once (reflect), everything once; of an edge, one
    // element is enough.
    std::optional<DimExpr> most = name == "reflect" ? subtract(from[d], 1) : from[d];
    for (const DimExpr &width : {widths[d].first, widths[d].second}) {
      std::optional<DimExpr> rest = most ? subtract(*most, name == "edge" ? DimExpr(1) : width) : most;
      if (!rest) return ctx.fail(Code::E_SHAPE, loc, "the padded extent is too long an expression");
      if (!ctx.graphRequire(*rest, Code::E_SHAPE,
                            "axis " + std::to_string(d) + " of " + ctx.graphName(x) + ", of " +
                                from[d].text() + " elements, has not enough of them for a border of " +
                                width.text() + " in mode \"" + name + "\"",
                            loc))
        return Value::error();
    }
    const Dims whole = ctx.graphDims(x);
    std::vector<int> parts;
    auto addBox = [&](const DimExpr &extent, const std::optional<DimExpr> &start, int64_t step) {
      if (!start) return false;
      Dims box = whole;
      box[d] = extent;
      std::vector<std::string> starts(whole.size(), "0");
      std::vector<int64_t> steps(whole.size(), 1);
      starts[d] = start->text();
      steps[d] = step;
      Value v = ctx.graphBox(x, std::move(box), std::move(starts), std::move(steps), loc);
      if (!v.isError()) parts.push_back(ctx.graphNode(v, loc));
      return !v.isError();
    };
    auto addBorder = [&](const DimExpr &extent, const std::optional<DimExpr> &start, int64_t step) {
      const std::optional<int64_t> count = extent.constant();
      if (step == 1 || d + 1 == from.size() || !count || *count > kMostSingleBoxes)
        return count == 0 || addBox(extent, start, step);
      for (int64_t i = 0; i < *count; ++i)
        if (!start || !addBox(DimExpr(1), add(*start, DimExpr(i * step)), 1)) return false;
      return true;
    };
    const auto [before, after] = widths[d];
    const std::optional<DimExpr> last = subtract(from[d], 1);
    const bool isMirrored = name == "reflect" || name == "symmetric";
    std::optional<DimExpr> low = name == "edge"   ? DimExpr(0)
                                 : name == "wrap" ? subtract(from[d], before)
                                                  : before;
    if (name == "symmetric") low = subtract(before, 1);
    std::optional<DimExpr> high = name == "wrap" ? DimExpr(0) : last;
    if (name == "reflect") high = subtract(from[d], 2);
    const int64_t step = isMirrored ? -1 : name == "edge" ? 0 : 1;
    if (!addBorder(before, low, step))
      return ctx.fail(Code::E_SHAPE, loc, "this extent is too long an expression");
    parts.push_back(ctx.graphNode(x, loc));
    if (!addBorder(after, high, step))
      return ctx.fail(Code::E_SHAPE, loc, "this extent is too long an expression");
    x = ctx.graphValue(GraphOp::Concat, x.dtype, std::move(here), loc, std::move(parts));
    if (!x.isError()) ctx.graphLast().ints = {static_cast<int64_t>(d)};
    if (x.isError()) return x;
  }
  return ctx.graphReshapeTo(std::move(x), std::move(dims), loc);
}

namespace {

/// `x` with each axis d beside itself outer[d] times, and each element inner[d] times: axes of the
/// repetitions are inserted, broadcast, and merged with the axis.
Value repeated(Elaborator &ctx, Value x, const Dims &outer, const Dims &inner, Range loc) {
  const Dims from = ctx.graphDims(x);
  Dims split, spread, merged;
  for (size_t d = 0; d < from.size(); ++d) {
    std::optional<DimExpr> whole = multiply(from[d], outer[d]);
    if (whole) whole = multiply(*whole, inner[d]);
    if (!whole) return ctx.fail(Code::E_SHAPE, loc, "the repeated extent is too long an expression");
    for (const DimExpr &count : {outer[d], inner[d]})
      if (!ctx.graphRequire(count, Code::E_SHAPE, "a number of repetitions cannot be " + count.text(), loc))
        return Value::error();
    merged.push_back(*whole);
    if (from[d].isOne()) { // is broadcast itself
      split.push_back(DimExpr(1));
      spread.push_back(*whole);
      continue;
    }
    if (!outer[d].isOne()) {
      split.push_back(DimExpr(1));
      spread.push_back(outer[d]);
    }
    split.push_back(from[d]);
    spread.push_back(from[d]);
    if (!inner[d].isOne()) {
      split.push_back(DimExpr(1));
      spread.push_back(inner[d]);
    }
  }
  if (split != from) x = ctx.graphReshapeTo(std::move(x), std::move(split), loc);
  if (x.isError()) return x;
  x = ctx.graphBroadcastTo(std::move(x), spread, loc);
  return ctx.graphReshapeTo(std::move(x), std::move(merged), loc);
}

} // namespace

Value graphTile(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  Dims counts;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0) || !ctx.graphShape(a[1], a.locOf(1), counts))
    return Value::error();
  Dims dims = ctx.graphDims(a[0]);
  while (counts.size() < dims.size())
    counts.insert(counts.begin(), DimExpr(1));
  if (counts.size() > dims.size()) {
    dims.insert(dims.begin(), counts.size() - dims.size(), DimExpr(1));
    a[0] = ctx.graphReshapeTo(std::move(a[0]), dims, loc);
    if (a[0].isError()) return Value::error();
  }
  // Each axis that is repeated takes another one for a while: some after the others, as many as there is room
  // for.
  const size_t room = dims.size() < Elaborator::kMaxRank ? Elaborator::kMaxRank - dims.size() : 1;
  const Dims ones(counts.size(), DimExpr(1));
  Value x = std::move(a[0]);
  Dims now = ones;
  size_t taken = 0;
  bool isDone = false;
  for (size_t d = 0; d < counts.size(); ++d) {
    if (counts[d].isOne()) continue;
    now[d] = counts[d];
    if (dims[d].isOne() || ++taken < room) continue;
    x = repeated(ctx, std::move(x), now, ones, loc);
    if (x.isError()) return x;
    now = ones;
    taken = 0;
    isDone = true;
  }
  return isDone && now == ones ? x : repeated(ctx, std::move(x), now, ones, loc);
}

Value graphRepeat(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  Value x = std::move(a[0]);
  std::optional<DimExpr> count = ctx.graphDimOf(a[1], a.locOf(1), "the number of repetitions");
  if (!count) return Value::error();
  std::optional<int64_t> axis = 0;
  if (a.given(2) && a[2].kind != Value::None)
    axis = ctx.graphAxis(a[2], a.locOf(2), ctx.graphDims(x).size());
  else
    x = flattened(ctx, std::move(x), loc);
  if (!axis || x.isError()) return Value::error();
  const auto at = static_cast<size_t>(*axis);
  Dims dims = ctx.graphDims(x), ones(dims.size(), DimExpr(1)), inner = ones;
  inner[at] = *count;
  // Along the last axis the repetitions would be the columns of a program's tile, which are few: elements are
  // read by number instead.
  std::optional<int64_t> known = count->constant();
  if (at + 1 == dims.size() && known && *known > 1) {
    std::optional<DimExpr> whole = multiply(dims[at], *count);
    if (!whole) return ctx.fail(Code::E_SHAPE, loc, "the repeated extent is too long an expression");
    dims[at] = *whole;
    Value index = ctx.binary(Op::FloorDiv, ctx.graphPosition(dims, *axis, loc), Value::integer(*known), loc);
    std::vector<int64_t> along = allAxes(dims.size());
    along[at] = -1;
    return ctx.graphGather(x, {std::move(index)}, std::move(along), std::move(dims), loc);
  }
  return repeated(ctx, std::move(x), ones, inner, loc);
}

/// An inclusive scan. Narrow floats are summed and multiplied in f32, and rounded once; narrow integers in
/// i32.
Value graphScan(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  const FunctionId id = a.function.id;
  const bool adds = id == FunctionId::CumSum || id == FunctionId::CumProd;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  Value x = std::move(a[0]);
  std::optional<int64_t> axis = 0;
  if (a.given(1) && a[1].kind != Value::None)
    axis = ctx.graphAxis(a[1], a.locOf(1), ctx.graphDims(x).size());
  else if (ctx.graphDims(x).size() != 1)
    x = flattened(ctx, std::move(x), loc);
  if (!axis || x.isError()) return Value::error();
  if (x.dtype == DType::Bool && !adds)
    return ctx.fail(Code::E_TYPE, loc, std::string("'") + a.function.name + "' takes numbers, not bool",
                    "cast to ts.i32 first");
  const bool isNarrow = isFloat(x.dtype) && info(x.dtype).bits < 32;
  const DType given = x.dtype;
  if (adds && isNarrow) x = ctx.cast(std::move(x), DType::F32, loc);
  if (adds && !isFloat(x.dtype) && info(x.dtype).bits < 32) x = ctx.cast(std::move(x), DType::I32, loc);
  if (adds && !checkAccumulator(ctx, x, a.locOf(0))) return Value::error();
  if (adds && x.accum == DType::F64) x = ctx.cast(std::move(x), DType::F64, loc);
  int node = ctx.graphNode(x, loc);
  Value r = ctx.graphValue(GraphOp::Scan, x.dtype, ctx.graphDims(x), loc, {node});
  if (r.isError()) return r;
  const int64_t kind = id == FunctionId::CumSum    ? 0
                       : id == FunctionId::CumMax  ? 1
                       : id == FunctionId::CumProd ? 2
                                                   : 3;
  ctx.graphLast().ints = {*axis, kind}; // graph::ScanKind
  return isFloat(given) ? ctx.cast(std::move(r), given, loc) : std::move(r);
}

} // namespace rules
} // namespace tessera::frontend
