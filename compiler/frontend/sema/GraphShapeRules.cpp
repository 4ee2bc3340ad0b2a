// Shapes in graph functions: the functions that cast, make, reshape, join and split tensors.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>

namespace tessera::frontend::rules {

Value graphReshape(Elaborator &ctx, GraphCall &a) {
  return ctx.graphReshape(std::move(a[0]), a[1], a.loc, a.locOf(1));
}

Value graphBroadcast(Elaborator &ctx, GraphCall &a) {
  Dims dims;
  if (!ctx.graphShape(a[1], a.locOf(1), dims)) return Value::error();
  return ctx.graphBroadcastTo(ctx.strengthen(ctx.asOperand(std::move(a[0]), a.locOf(0))), dims, a.loc);
}

Value graphCast(Elaborator &ctx, GraphCall &a) {
  Value v = ctx.asOperand(std::move(a[0]), a.locOf(0));
  std::optional<DType> t = ctx.staticDType(a[1], a.locOf(1));
  return t ? ctx.cast(std::move(v), *t, a.loc) : Value::error();
}

Value graphWhere(Elaborator &ctx, GraphCall &a) {
  for (size_t i = 0; i < 3; ++i)
    a[i] = ctx.asOperand(std::move(a[i]), a.locOf(i));
  return ctx.where(std::move(a[0]), std::move(a[1]), std::move(a[2]), a.locOf(0), a.loc);
}

Value graphTranspose(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  if (!a.given(1) || a[1].kind == Value::None) return ctx.graphTranspose(std::move(a[0]), {}, loc);
  size_t rank = ctx.graphDims(a[0]).size();
  if (a[1].isError()) return Value::error();
  if (a[1].kind != Value::Tuple || a[1].items.size() != rank)
    return ctx.fail(Code::E_AXIS, a.locOf(1),
                    "the perm of " + ctx.graphName(a[0]) + " is a tuple of its " + std::to_string(rank) +
                        " axes");
  std::vector<int64_t> perm;
  for (const Value &item : a[1].items) {
    std::optional<int64_t> axis = ctx.graphAxis(item, a.locOf(1), rank);
    if (!axis) return Value::error();
    if (std::ranges::find(perm, *axis) != perm.end())
      return ctx.fail(Code::E_AXIS, a.locOf(1),
                      "axis " + std::to_string(*axis) + " stands in the perm twice");
    perm.push_back(*axis);
  }
  return ctx.graphTranspose(std::move(a[0]), std::move(perm), loc);
}

Value graphConcat(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  Value &list = a[0];
  if (list.isError()) return list;
  if (list.kind != Value::Tuple || list.items.empty())
    return ctx.fail(Code::E_TYPE, a.locOf(0), "'concat' takes a list of tensors",
                    "write ts.concat([a, b], axis=0)");
  std::optional<int64_t> axis;
  Dims out;
  std::vector<int> args;
  for (size_t i = 0; i < list.items.size(); ++i) {
    Value &v = list.items[i];
    if (v.isError() || !ctx.graphTensor(v, a.locOf(0), 1)) return Value::error();
    const Dims &dims = ctx.graphDims(v);
    args.push_back(ctx.graphNode(v, loc));
    if (i == 0) {
      axis = ctx.graphAxis(a[1], a.locOf(1), dims.size());
      if (!axis) return Value::error();
      out = dims;
      continue;
    }
    const Value &first = list.items[0];
    if (v.dtype != first.dtype)
      return ctx.fail(Code::E_TYPE_MIX, loc, "'concat' mixes " + describe(first) + " and " + describe(v));
    Dims others = dims;
    auto at = static_cast<size_t>(*axis);
    if (others.size() == out.size()) others[at] = out[at];
    if (others != out)
      return ctx.fail(Code::E_SHAPE, loc,
                      ctx.graphName(first) + " and " + ctx.graphName(v) + " differ in another axis than " +
                          std::to_string(*axis));
    std::optional<DimExpr> sum = add(out[at], dims[at]);
    if (!sum) return ctx.fail(Code::E_SHAPE, loc, "the joined extent is too long an expression");
    out[at] = std::move(*sum);
  }
  DType dtype = list.items[0].dtype;
  Value r = ctx.graphValue(GraphOp::Concat, dtype, std::move(out), loc, std::move(args));
  if (!r.isError()) ctx.graphLast().ints = {*axis};
  return r;
}

/// Equal parts along an axis, as a tuple.
Value graphSplit(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  Value &v = a[0];
  if (v.isError() || !ctx.graphTensor(v, a.locOf(0), 1)) return Value::error();
  std::optional<int64_t> parts = ctx.staticInt(a[1], a.locOf(1), "the number of parts");
  std::optional<int64_t> axis = ctx.graphAxis(a[2], a.locOf(2), ctx.graphDims(v).size());
  if (!parts || !axis) return Value::error();
  Dims dims = ctx.graphDims(v);
  auto at = static_cast<size_t>(*axis);
  std::optional<DimExpr> part =
      *parts >= 1 && *parts <= 256 ? divideExactly(dims[at], DimExpr(*parts)) : std::nullopt;
  if (!part)
    return ctx.fail(Code::E_SHAPE, loc,
                    dims[at].text() + " of " + ctx.graphName(v) + " is not known to split into " +
                        std::to_string(*parts) + " equal parts",
                    "take slices: x[:a], x[a:]");
  dims[at] = *part;
  std::vector<Value> items;
  for (int64_t i = 0; i < *parts; ++i) {
    int node = ctx.graphNode(v, loc);
    Value r = ctx.graphValue(GraphOp::Slice, v.dtype, dims, loc, {node});
    std::optional<DimExpr> start = multiply(*part, DimExpr(i));
    if (r.isError()) return r;
    if (!start) return ctx.fail(Code::E_SHAPE, loc, "a part starts too far behind for 64 bits");
    ctx.graphLast().texts.assign(dims.size(), "0");
    ctx.graphLast().texts[at] = start->text();
    items.push_back(std::move(r));
  }
  return Value::tuple(std::move(items));
}

/// arange(n), or arange(start, stop, step): an i32 tensor, or i64 if the start is a dim.
Value graphArange(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  std::optional<int64_t> step = ctx.staticInt(a[2], a.locOf(2), "the step of 'arange'");
  if (!step) return Value::error();
  if (*step == 0 || *step == INT64_MIN)
    return ctx.fail(Code::E_LOOP_STEP, a.locOf(2), "the step of 'arange' is not " + std::to_string(*step));
  const Value start = a.given(1) ? ctx.asOperand(a[0], a.locOf(0)) : Value::integer(0);
  size_t end = a.given(1) ? 1 : 0;
  std::optional<DimExpr> from = ctx.graphDimOf(start, a.locOf(0), "the start of 'arange'"),
                         to = ctx.graphDimOf(a[end], a.locOf(end), "the end of 'arange'");
  if (!from || !to) return Value::error();
  // ceildiv(distance, |step|), and 0 if the start is known to be past the end.
  std::optional<DimExpr> n = *step > 0 ? subtract(*to, *from) : subtract(*from, *to);
  const int64_t stride = *step > 0 ? *step : -*step;
  if (n && stride != 1)
    if ((n = add(*n, DimExpr(stride - 1)))) n = apply("floordiv", *n, DimExpr(stride));
  if (!n) return ctx.fail(Code::E_SHAPE, loc, "the length of 'arange' is too long an expression");
  if (a.given(1) && n->constant().value_or(0) < 0) n = DimExpr(0);
  if (!ctx.graphRequire(*n, Code::E_SHAPE, "the length of 'arange' cannot be " + n->text(), loc))
    return Value::error();
  Value r = ctx.graphValue(GraphOp::Iota, DType::I32, {*n}, loc);
  if (r.isError()) return r;
  ctx.graphLast().ints = {0};
  if (*step != 1) r = ctx.binary(Op::Mul, std::move(r), Value::integer(*step), loc);
  bool isZero = start.isConstInt() && start.intValue == 0;
  return isZero ? std::move(r) : ctx.binary(Op::Add, std::move(r), start, loc);
}

static Value filled(Elaborator &ctx, GraphCall &a, bool isFull) {
  const Range loc = a.loc;
  Dims dims;
  bool ok = ctx.graphShape(a[0], a.locOf(0), dims);
  Value fill = isFull ? ctx.asOperand(std::move(a[1]), a.locOf(1)) : Value::real(0);
  const size_t at = isFull ? 2 : 1; // the dtype
  DType t = DType::F32;
  if (a.given(at)) {
    std::optional<DType> asked = ctx.staticDType(a[at], a.locOf(at));
    if (!asked) return Value::error();
    t = *asked;
  } else if (isFull && !fill.isError()) {
    t = ctx.strengthen(fill).dtype;
  }
  if (!ok || fill.isError()) return Value::error();
  if (!isFull && !isFloat(t)) fill = Value::integer(0, t, false);
  if (fill.dtype != t && !fill.converts(t) && (!fill.weak || (isFloat(fill.dtype) && !isFloat(t))))
    return ctx.fail(Code::E_TYPE_MIX, loc,
                    std::string("'full' is given ") + describe(fill) + " for a tensor of " + name(t),
                    std::string("cast the value with ts.") + name(t) + "(x)");
  return ctx.graphBroadcastTo(ctx.convert(std::move(fill), t, loc), dims, loc);
}

Value graphZeros(Elaborator &ctx, GraphCall &a) { return filled(ctx, a, false); }

Value graphFull(Elaborator &ctx, GraphCall &a) { return filled(ctx, a, true); }

} // namespace tessera::frontend::rules
