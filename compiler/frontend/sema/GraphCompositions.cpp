// Functions of graph functions that other functions compose: each builds the graph that a user would write
// with them, so that it fuses like one.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::frontend::rules {

namespace {

Value integer(int64_t v) { return Value::integer(v); }

Value flag(bool v) {
  Value value = Value::integer(v);
  value.dtype = DType::Bool;
  return value;
}

/// Calls the graph function `name`, a reduction, with an axis argument of another call.
Value reduced(Elaborator &ctx, const GraphCall &a, const char *name, Value x, bool keep) {
  if (x.isError()) return x;
  GraphCall call{*findFunction("tessera.op", name), a.source, a.loc, {}, {}};
  call.values.emplace_back(std::move(x));
  call.values.push_back(a.values[1]);
  call.values.emplace_back(flag(keep));
  call.locs = {a.locOf(0), a.locOf(1), a.loc};
  return graphReduce(ctx, call);
}

/// The dims of `x` after a reduction over the axis argument of the call. Nothing, with an error, if that is
/// none.
std::optional<Dims> reducedDims(Elaborator &ctx, const GraphCall &a, const Value &x, bool keep) {
  std::vector<int64_t> axes;
  Dims dims = ctx.graphDims(x), out;
  const bool isWhole = !a.given(1) || a.values[1]->kind == Value::None;
  if (!isWhole && !ctx.graphAxes(*a.values[1], a.locOf(1), dims.size(), axes)) return std::nullopt;
  for (size_t i = 0; i < dims.size(); ++i) {
    bool isReduced = isWhole || std::ranges::count(axes, static_cast<int64_t>(i)) != 0;
    if (!isReduced) out.push_back(dims[i]);
    if (isReduced && keep) out.push_back(DimExpr(1));
  }
  return out;
}

/// The tensor that the first argument is, as floats.
Value floatTensor(Elaborator &ctx, GraphCall &a) {
  Value x = ctx.floatOperand(std::move(a[0]), a.locOf(0), a.function.name);
  return x.isError() || !ctx.graphTensor(x, a.locOf(0), 0) ? Value::error() : std::move(x);
}

} // namespace

/// mean((x - mean(x))^2), with the number of elements less `correction` as the divisor.
Value graphVariance(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  bool keep = false;
  Value x = floatTensor(ctx, a);
  if (x.isError() || !ctx.graphFlag(a[2], a.locOf(2), "keepdims", keep)) return Value::error();
  std::optional<int64_t> correction = ctx.staticInt(a[3], a.locOf(3), "the correction");
  std::optional<Dims> left = reducedDims(ctx, a, x, /*keep=*/true);
  if (!correction || !left) return Value::error();
  const DType dtype = x.dtype;
  if (info(dtype).bits < 32) x = ctx.cast(std::move(x), DType::F32, loc);
  const Dims dims = ctx.graphDims(x);
  Value distance = ctx.binary(Op::Sub, x, reduced(ctx, a, "mean", x, true), loc);
  Value v = reduced(ctx, a, "mean", ctx.binary(Op::Mul, distance, distance, loc), keep);
  if (*correction != 0 && !v.isError()) {
    std::optional<DimExpr> count = DimExpr(1);
    for (size_t i = 0; i < dims.size(); ++i)
      if (count && (*left)[i].isOne()) count = multiply(*count, dims[i]);
    if (!count) return ctx.fail(Code::E_SHAPE, loc, "the number of elements has no short expression");
    Value n = ctx.cast(ctx.graphExtent(*count), x.dtype, loc);
    Value divisor = ctx.binary(Op::Sub, n, ctx.cast(integer(*correction), x.dtype, loc), loc);
    v = ctx.binary(Op::Mul, std::move(v), ctx.binary(Op::Div, std::move(n), std::move(divisor), loc), loc);
  }
  if (a.function.id == FunctionId::Std) v = ctx.function(Op::Sqrt, std::move(v), loc);
  return ctx.cast(std::move(v), dtype, loc);
}

/// log(sum(exp(x))), computed from the largest element, unless that is infinite.
Value graphLogSumExp(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  bool keep = false;
  Value x = floatTensor(ctx, a);
  if (x.isError() || !ctx.graphFlag(a[2], a.locOf(2), "keepdims", keep)) return Value::error();
  std::optional<Dims> out = reducedDims(ctx, a, x, keep);
  if (!out) return Value::error();
  const DType dtype = x.dtype;
  if (info(dtype).bits < 32) x = ctx.cast(std::move(x), DType::F32, loc);
  Value most = reduced(ctx, a, "max", x, true);
  if (most.isError()) return most;
  Value infinity = ctx.cast(Value::real(std::numeric_limits<double>::infinity()), x.dtype, loc);
  Value isFinite = ctx.binary(Op::Lt, ctx.graphElementwise(Op::Abs, most, loc), std::move(infinity), loc);
  Value zero = ctx.cast(Value::real(0), x.dtype, loc);
  most = ctx.graphSelect(std::move(isFinite), std::move(most), std::move(zero), loc);
  Value e = ctx.function(Op::Exp, ctx.binary(Op::Sub, std::move(x), most, loc), loc);
  Value sum = ctx.function(Op::Log, reduced(ctx, a, "sum", std::move(e), true), loc);
  sum = ctx.cast(ctx.binary(Op::Add, std::move(sum), std::move(most), loc), dtype, loc);
  return keep || sum.isError() ? std::move(sum) : ctx.graphReshapeTo(std::move(sum), *out, loc);
}

/// Sums, or takes the largest of, magnitudes. Narrow floats compute in f32.
Value graphNormOf(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  double order = 0;
  bool keep = false;
  Value x = floatTensor(ctx, a);
  if (x.isError() || !ctx.graphNumber(a[1], a.locOf(1), "ord", order) ||
      !ctx.graphFlag(a[3], a.locOf(3), "keepdims", keep))
    return Value::error();
  if (order != 0 && order != 1 && order != 2 && order != std::numeric_limits<double>::infinity())
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(1), "the order of 'norm' is 0, 1, 2 or math.inf",
                    "write the sum: ts.sum(ts.abs(x) ** p) ** (1.0 / p)");
  const DType dtype = x.dtype;
  if (info(dtype).bits < 32) x = ctx.cast(std::move(x), DType::F32, loc);
  const bool isLargest = std::isinf(order);
  if (order == 2)
    x = ctx.binary(Op::Mul, x, x, loc);
  else if (order == 0)
    x = ctx.cast(ctx.binary(Op::Ne, x, ctx.cast(Value::real(0), x.dtype, loc), loc), x.dtype, loc);
  else
    x = ctx.graphElementwise(Op::Abs, std::move(x), loc);
  if (x.isError()) return x;
  GraphCall call{*findFunction("tessera.op", isLargest ? "max" : "sum"), a.source, loc, {}, {}};
  call.values.emplace_back(std::move(x));
  call.values.push_back(a.values[2]);
  call.values.emplace_back(flag(keep));
  call.locs = {a.locOf(0), a.locOf(2), a.locOf(3)};
  Value r = graphReduce(ctx, call);
  if (order == 2) r = ctx.function(Op::Sqrt, std::move(r), loc);
  return ctx.cast(std::move(r), dtype, loc);
}

/// Does any element, or do all, differ from 0?
Value graphAnyAll(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  bool keep = false;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0) ||
      !ctx.graphFlag(a[2], a.locOf(2), "keepdims", keep))
    return Value::error();
  Value x = std::move(a[0]);
  if (x.dtype != DType::Bool) {
    Value zero = ctx.cast(integer(0), x.dtype, loc);
    x = ctx.binary(Op::Ne, std::move(x), std::move(zero), loc);
  }
  x = ctx.cast(std::move(x), DType::I8, loc);
  x = reduced(ctx, a, a.function.id == FunctionId::Any ? "max" : "min", std::move(x), keep);
  // Of no elements: the least or the largest integer.
  Value zero = ctx.cast(integer(0), DType::I8, loc);
  return ctx.binary(a.function.id == FunctionId::Any ? Op::Gt : Op::Ne, std::move(x), std::move(zero), loc);
}

/// Joins tensors of one shape along a new axis.
Value graphStack(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError()) return Value::error();
  if (a[0].kind != Value::Tuple || a[0].items.empty())
    return ctx.fail(Code::E_TYPE, a.locOf(0), "'stack' takes a list of tensors",
                    "write ts.stack([a, b], axis=0)");
  std::optional<int64_t> axis;
  for (Value &v : a[0].items) {
    if (v.isError() || !ctx.graphTensor(v, a.locOf(0), 0)) return Value::error();
    Dims dims = ctx.graphDims(v);
    if (!axis) axis = ctx.graphAxis(a[1], a.locOf(1), dims.size() + 1);
    if (!axis) return Value::error();
    if (static_cast<size_t>(*axis) > dims.size())
      return ctx.fail(Code::E_SHAPE, a.locOf(0), "'stack' takes tensors of one shape");
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(*axis), DimExpr(1));
    v = ctx.graphReshapeTo(std::move(v), std::move(dims), loc);
    if (v.isError()) return v;
  }
  GraphCall call{*findFunction("tessera.op", "concat"), a.source, loc, {}, {a.locOf(0), a.locOf(1)}};
  call.values.emplace_back(std::move(a[0]));
  call.values.emplace_back(integer(*axis));
  return graphConcat(ctx, call);
}

/// Where the row, counted along the second last axis, and the column are on the asked side of a diagonal.
Value graphTriangle(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 2)) return Value::error();
  Value x = std::move(a[0]);
  std::optional<int64_t> diagonal = ctx.staticInt(a[1], a.locOf(1), "the diagonal");
  if (!diagonal) return Value::error();
  const Dims dims = ctx.graphDims(x);
  auto position = [&](size_t fromEnd) {
    const DimExpr extent = dims[dims.size() - fromEnd];
    Value v = ctx.graphValue(GraphOp::Iota, DType::I32, {extent}, loc);
    if (v.isError()) return v;
    ctx.graphLast().ints = {0};
    return fromEnd == 1 ? std::move(v) : ctx.graphReshapeTo(std::move(v), {extent, DimExpr(1)}, loc);
  };
  Value row = position(2), column = position(1);
  if (row.isError() || column.isError()) return Value::error();
  row = ctx.binary(Op::Add, std::move(row), integer(*diagonal), loc);
  Value keep =
      ctx.binary(a.function.id == FunctionId::Tril ? Op::Ge : Op::Le, std::move(row), std::move(column), loc);
  if (x.dtype == DType::Bool) return ctx.binary(Op::And, std::move(x), std::move(keep), loc);
  Value zero = ctx.cast(integer(0), x.dtype, loc);
  return ctx.graphSelect(std::move(keep), std::move(x), std::move(zero), loc);
}

/// A last axis of `classes` elements, 1 at the index and 0 elsewhere.
Value graphOneHot(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 0)) return Value::error();
  if (a[0].dtype != DType::I32 && a[0].dtype != DType::I64)
    return ctx.fail(Code::E_TYPE, a.locOf(0),
                    "the indices of 'one_hot' are i32 or i64, found " + describe(a[0]));
  std::optional<DimExpr> classes = ctx.graphDimOf(a[1], a.locOf(1), "the number of classes");
  if (!classes) return Value::error();
  DType dtype = DType::F32;
  if (a.given(2) && a[2].kind != Value::None) {
    std::optional<DType> asked = ctx.staticDType(a[2], a.locOf(2));
    if (!asked) return Value::error();
    dtype = *asked;
  }
  Value index = std::move(a[0]);
  Dims dims = ctx.graphDims(index);
  dims.push_back(DimExpr(1));
  Value positions = ctx.graphValue(GraphOp::Iota, DType::I32, {*classes}, loc);
  if (positions.isError()) return positions;
  ctx.graphLast().ints = {0};
  positions = ctx.cast(std::move(positions), index.dtype, loc);
  index = ctx.graphReshapeTo(std::move(index), std::move(dims), loc);
  Value hit = ctx.binary(Op::Eq, std::move(index), std::move(positions), loc);
  return ctx.cast(std::move(hit), dtype, loc);
}

} // namespace tessera::frontend::rules
