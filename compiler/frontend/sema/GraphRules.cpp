// Library operations of graph functions: products, reductions, normalisations, losses, attention.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::frontend {

/// As in NumPy: a vector on the left is a matrix of one row, one on the right a matrix of one column, and the
/// axis of one element is dropped from the product.
Value Elaborator::vectorProduct(Value a, Value b, std::optional<DType> dtype, Range loc) {
  const bool isRow = graphDims(a).size() == 1, isColumn = graphDims(b).size() == 1;
  auto matrix = [&](Value &v, Dims dims) {
    const std::optional<DType> accum = v.accum;
    const std::string name = graph_->names[static_cast<size_t>(graphNode(v, loc))];
    v = graphReshapeTo(std::move(v), std::move(dims), loc);
    graph_->names.back() = name;
    v.accum = accum;
  };
  if (isRow) matrix(a, {DimExpr(1), graphDims(a)[0]});
  if (isColumn) matrix(b, {graphDims(b)[0], DimExpr(1)});
  Value product = graphMatmul(std::move(a), std::move(b), false, false, dtype, loc);
  if (product.isError()) return product;
  Dims dims = graphDims(product);
  if (isColumn) dims.pop_back();
  if (isRow) dims.erase(dims.end() - (isColumn ? 1 : 2));
  return graphReshapeTo(std::move(product), std::move(dims), loc);
}

Value Elaborator::graphMatmul(Value a, Value b, bool transA, bool transB, std::optional<DType> dtype,
                              Range loc) {
  if (a.isError() || b.isError()) return Value::error();
  auto isVector = [&](const Value &v) { return v.isGraph() && graphDims(v).size() == 1; };
  if (a.isGraph() && b.isGraph() && !(isVector(a) && transA) && !(isVector(b) && transB) &&
      (isVector(a) || isVector(b)))
    return vectorProduct(std::move(a), std::move(b), dtype, loc);
  Value *sides[2] = {&a, &b};
  bool transposed[2] = {transA, transB};
  Dims dims[2];
  for (int i = 0; i < 2; ++i) {
    Value &v = *sides[i];
    if (!v.isGraph() || graphDims(v).size() < 2)
      return fail(Code::E_SHAPE, loc, "a matrix product takes matrices and vectors, found " + graphName(v),
                  isVector(v) ? "a vector is not transposed: it is a row on the left, a column on the right"
                              : "");
    // .T of an operand is a flag rather than a copy, unless a kernel has updated the operand since.
    const GraphValue &node = graph_->out.values[static_cast<size_t>(graphNode(v, loc))];
    auto rank = static_cast<int64_t>(node.ints.size());
    auto swapsLast = [&] { // and leaves the others
      for (int64_t d = 0; d < rank; ++d)
        if (node.ints[static_cast<size_t>(d)] != (d < rank - 2 ? d : 2 * rank - 3 - d)) return false;
      return true;
    };
    if (node.op == GraphOp::Transpose && swapsLast() &&
        graph_->newer[static_cast<size_t>(node.args[0])] < 0) {
      std::optional<DType> accum = v.accum;
      Value inner = v;
      inner.index = node.args[0];
      inner.text = describe(v);
      v = std::move(inner);
      v.accum = accum;
      transposed[i] = !transposed[i];
    }
    dims[i] = graphDims(v);
    if (transposed[i]) std::swap(dims[i][dims[i].size() - 1], dims[i][dims[i].size() - 2]);
  }
  if (a.dtype != b.dtype)
    return fail(Code::E_TYPE_MIX, loc,
                "a matrix product of " + describe(a) + " and " + describe(b) + "; their dtypes must agree",
                mixHint(a, b));
  if (a.dtype == DType::Bool) return fail(Code::E_TYPE, loc, "a matrix product takes numbers, not bool");
  if (isUnsigned(a.dtype) && a.dtype != DType::U8)
    return fail(Code::E_TYPE, loc,
                std::string("a matrix product takes floats, signed integers or u8, not ") + name(a.dtype),
                "cast to ts.i32 or ts.i64 first");
  const DimExpr &ka = dims[0].back(), &kb = dims[1][dims[1].size() - 2];
  if (ka != kb)
    return fail(Code::E_SHAPE, loc,
                "the product of " + graphName(a) + (transposed[0] ? ".T" : "") + " and " + graphName(b) +
                    (transposed[1] ? ".T" : "") + " sums over " + ka.text() + " and " + kb.text() +
                    ", which would have to be equal",
                dims[0].back() == dims[1].back() ? "transpose the second operand with .T" : "");
  // Leading dims broadcast.
  size_t rank = std::max(dims[0].size(), dims[1].size());
  Dims out(rank - 2, DimExpr(1));
  for (const Dims &side : dims)
    for (size_t i = 0; i + 2 < side.size(); ++i) {
      DimExpr &known = out[rank - side.size() + i];
      if (side[i] == known || side[i].isOne()) continue;
      if (!known.isOne())
        return fail(Code::E_SHAPE, loc,
                    "the batch dims of " + graphName(a) + " and " + graphName(b) +
                        " do not broadcast: " + known.text() + " would have to equal " + side[i].text());
      known = side[i];
    }
  out.push_back(dims[0][dims[0].size() - 2]);
  out.push_back(dims[1].back());

  DType result = a.dtype == DType::TF32 ? DType::F32 : a.dtype;
  std::optional<DType> policy = a.accum ? a.accum : b.accum;
  if (dtype)
    result = *dtype;
  else if (policy && isFloat(a.dtype))
    result = *policy;
  else if (info(a.dtype).bits <= 8)
    result = isFloat(a.dtype) ? DType::F32 : DType::I32;
  if (isFloat(result) != isFloat(a.dtype))
    return fail(Code::E_TYPE, loc,
                std::string("a product of ") + name(a.dtype) + " does not give " + name(result),
                "cast the operands, or the result");
  int x = graphNode(a, loc), y = graphNode(b, loc);
  Value v = graphValue(GraphOp::Matmul, result, std::move(out), loc, {x, y});
  if (v.isError()) return v;
  graphLast().ints = {transposed[0], transposed[1]};
  graphLast().specializations = specializationsInForce();
  return v;
}

namespace rules {

/// Converts the operands to floats of one dtype: f16 or bf16 beside f32 is widened, other dtypes must be
/// equal.
static bool unifyFloats(Elaborator &ctx, std::vector<Value *> operands, Range loc, const char *what) {
  for (Value *v : operands) {
    *v = ctx.floatOperand(std::move(*v), loc, what);
    if (v->isError()) return false;
  }
  for (size_t round = 0; round < 2; ++round) // the second round propagates a widening to the first operands
    for (size_t i = 1; i < operands.size(); ++i)
      if (!ctx.unify(*operands[0], *operands[i], loc, what)) return false;
  return true;
}

Value graphMatmul(Elaborator &ctx, GraphCall &a) {
  bool transA = false, transB = false;
  if (!ctx.graphFlag(a[2], a.locOf(2), "trans_a", transA)) return Value::error();
  if (!ctx.graphFlag(a[3], a.locOf(3), "trans_b", transB)) return Value::error();
  std::optional<DType> dtype;
  if (a.given(4) && a[4].kind != Value::None) {
    dtype = ctx.staticDType(a[4], a.locOf(4));
    if (!dtype) return Value::error();
  }
  return ctx.graphMatmul(std::move(a[0]), std::move(a[1]), transA, transB, dtype, a.loc);
}

Value graphReduce(Elaborator &ctx, GraphCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  Value v = std::move(a[0]);
  const Op op = b.op.value_or(Op::Sum);
  bool isMean = b.id == FunctionId::Mean, isArg = op == Op::ArgMax || op == Op::ArgMin;
  if (isMean) v = ctx.floatOperand(std::move(v), a.locOf(0), "mean");
  if (v.isError()) return v;
  if (!v.isGraph())
    return ctx.fail(Code::E_TYPE, a.locOf(0),
                    std::string("'") + b.name + "' takes a tensor, found " + describe(v),
                    b.id == FunctionId::Max   ? "the larger of two values is ts.maximum(a, b)"
                    : b.id == FunctionId::Min ? "the smaller of two values is ts.minimum(a, b)"
                                              : "");
  std::vector<int64_t> axes;
  size_t rank = ctx.graphDims(v).size();
  bool whole = !a.given(1) || a[1].kind == Value::None;
  if (!whole && !ctx.graphAxes(a[1], a.locOf(1), rank, axes)) return Value::error();
  bool keep = false;
  if (!ctx.graphFlag(a[2], a.locOf(2), "keepdims", keep)) return Value::error();
  bool takesLast = false;
  if (isArg && !ctx.graphFlag(a[3], a.locOf(3), "select_last", takesLast)) return Value::error();
  const bool isBool = v.dtype == DType::Bool;
  const bool isExtreme = op == Op::Max || op == Op::Min;
  if (isBool && (isExtreme || isArg))
    v = ctx.cast(std::move(v), DType::I8, loc);
  else if (isBool || ((op == Op::Sum || op == Op::Prod) && !isFloat(v.dtype) && info(v.dtype).bits < 32))
    v = ctx.cast(std::move(v), DType::I32, loc);
  DType original = v.dtype;
  if (isMean || op == Op::Sum || op == Op::Prod) {
    if (!checkAccumulator(ctx, v, a.locOf(0))) return Value::error();
    if (v.accum == DType::F64) v = ctx.cast(std::move(v), DType::F64, loc);
  }
  if (isArg && !whole && axes.size() != 1)
    return ctx.fail(Code::E_AXIS, a.locOf(1), std::string("'") + b.name + "' takes one axis, or none");
  Dims full = ctx.graphDims(v);
  if (whole && isArg && rank != 1) { // the index into the flattened tensor, as in NumPy
    std::optional<DimExpr> count = DimExpr(1);
    for (const DimExpr &d : full)
      if (count) count = multiply(*count, d);
    if (!count) return ctx.fail(Code::E_SHAPE, loc, "the size of this tensor has no short expression");
    v = ctx.graphReshapeTo(std::move(v), {*count}, loc);
    if (v.isError()) return v;
    axes = {0};
    full = {*count};
  } else if (whole) {
    for (size_t i = 0; i < rank; ++i)
      axes.push_back(static_cast<int64_t>(i));
  }
  const bool looksBack = takesLast && !axes.empty(); // for the first of the elements in reverse order
  if (looksBack) v = ctx.graphReverse(std::move(v), axes, loc);
  Dims out;
  for (size_t i = 0; i < full.size(); ++i) {
    bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) out.push_back(full[i]);
    if (reduced && keep) out.push_back(DimExpr(1));
  }
  int node = ctx.graphNode(v, loc);
  Value r = ctx.graphValue(isMean ? GraphOp::Mean : GraphOp::Reduce, isArg ? DType::I32 : v.dtype,
                           std::move(out), loc, {node});
  if (r.isError()) return r;
  ctx.graphLast().function = op;
  ctx.graphLast().ints = axes;
  ctx.graphLast().keepDims = keep;
  if (looksBack) {
    Value last =
        ctx.binary(Op::Sub, ctx.graphExtent(full[static_cast<size_t>(axes[0])]), Value::integer(1), loc);
    r = ctx.binary(Op::Sub, ctx.cast(std::move(last), DType::I32, loc), std::move(r), loc);
  }
  // Of no elements: the least or the largest i8.
  if (isBool && isExtreme) {
    Value zero = ctx.cast(Value::integer(0), DType::I8, loc);
    r = ctx.binary(op == Op::Max ? Op::Gt : Op::Ne, std::move(r), std::move(zero), loc);
  }
  if (keep && whole && isArg && rank != 1) r = ctx.graphReshapeTo(std::move(r), Dims(rank, DimExpr(1)), loc);
  return r.dtype == DType::F64 ? ctx.cast(std::move(r), original, loc) : r;
}

Value graphSoftmax(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  Value v = ctx.floatOperand(std::move(a[0]), a.locOf(0), a.function.name);
  if (v.isError() || !ctx.graphTensor(v, a.locOf(0), 1)) return Value::error();
  std::optional<int64_t> axis = ctx.graphAxis(a[1], a.locOf(1), ctx.graphDims(v).size());
  if (!axis) return Value::error();
  int node = ctx.graphNode(v, loc);
  Value r = ctx.graphValue(*a.function.graphOp, v.dtype, ctx.graphDims(v), loc, {node});
  if (!r.isError()) ctx.graphLast().ints = {*axis};
  return r;
}

Value graphNorm(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  const GraphOp op = *a.function.graphOp;
  const bool isLayer = op == GraphOp::LayerNorm;
  std::vector<Value *> operands = {&a[0]};
  for (size_t i = 1; i < (isLayer ? 3u : 2u); ++i)
    if (a.given(i) && a[i].kind != Value::None) operands.push_back(&a[i]);
  if (!unifyFloats(ctx, operands, loc, a.function.name)) return Value::error();
  for (size_t i = 0; i < operands.size(); ++i)
    if (!ctx.graphTensor(*operands[i], loc, 1)) return Value::error();
  Dims dims = ctx.graphDims(a[0]);
  auto axis = static_cast<int64_t>(dims.size()) - 1;
  size_t epsAt = isLayer ? 4 : 2;
  if (isLayer) {
    std::optional<int64_t> asked = ctx.graphAxis(a[3], a.locOf(3), dims.size());
    if (!asked) return Value::error();
    axis = *asked;
  }
  double eps = 0;
  if (!ctx.graphNumber(a[epsAt], a.locOf(epsAt), "eps", eps)) return Value::error();
  if (!(eps >= 0) || std::isinf(eps))
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(epsAt), "eps is a number of at least 0");
  for (size_t i = 1; i < operands.size(); ++i)
    if (ctx.graphDims(*operands[i]) != Dims{dims[static_cast<size_t>(axis)]})
      return ctx.fail(Code::E_SHAPE, loc,
                      ctx.graphName(*operands[i]) + " scales axis " + std::to_string(axis) + " of " +
                          ctx.graphName(a[0]) + " and would have to be [" +
                          dims[static_cast<size_t>(axis)].text() + "]");
  std::vector<int> args = {ctx.graphNode(a[0], loc)};
  for (size_t i = 1; i < (isLayer ? 3u : 2u); ++i)
    args.push_back(a.given(i) && a[i].kind != Value::None ? ctx.graphNode(a[i], loc) : -1);
  Value r = ctx.graphValue(op, a[0].dtype, dims, loc, std::move(args));
  if (r.isError()) return r;
  ctx.graphLast().ints = {axis};
  ctx.graphLast().number = eps;
  return r;
}

Value graphMse(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  if (!unifyFloats(ctx, {&a[0], &a[1]}, loc, "mse")) return Value::error();
  if (!ctx.graphTensor(a[0], a.locOf(0), 0) || !ctx.graphTensor(a[1], a.locOf(1), 0)) return Value::error();
  if (ctx.graphDims(a[0]) != ctx.graphDims(a[1]))
    return ctx.fail(Code::E_SHAPE, loc,
                    "'mse' compares tensors of one shape, found " + ctx.graphName(a[0]) + " and " +
                        ctx.graphName(a[1]));
  if (info(a[0].dtype).bits < 32) // a loss is at least f32
    for (size_t i : {size_t(0), size_t(1)})
      a[i] = ctx.cast(std::move(a[i]), DType::F32, loc);
  int x = ctx.graphNode(a[0], loc), y = ctx.graphNode(a[1], loc);
  return ctx.graphValue(GraphOp::Mse, a[0].dtype, {}, loc, {x, y});
}

Value graphCrossEntropy(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  a[0] = ctx.floatOperand(std::move(a[0]), a.locOf(0), "cross_entropy");
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1) || !ctx.graphTensor(a[1], a.locOf(1), 0))
    return Value::error();
  if (a[1].dtype != DType::I32 && a[1].dtype != DType::I64)
    return ctx.fail(Code::E_TYPE, a.locOf(1),
                    "the labels of 'cross_entropy' are i32 or i64, found " + describe(a[1]));
  std::optional<int64_t> ignoredLabel = ctx.staticInt(a[2], a.locOf(2), "ignore_index");
  if (!ignoredLabel) return Value::error();
  Dims rows = ctx.graphDims(a[0]);
  rows.pop_back();
  if (ctx.graphDims(a[1]) != rows)
    return ctx.fail(Code::E_SHAPE, loc,
                    "'cross_entropy' takes one label per row: logits " + ctx.graphName(a[0]) +
                        " want labels " + dimsText(rows) + ", found " + ctx.graphName(a[1]));
  double smoothing = 0;
  if (!ctx.graphNumber(a[4], a.locOf(4), "label_smoothing", smoothing)) return Value::error();
  if (!(smoothing >= 0 && smoothing <= 1))
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(4), "label_smoothing is a number from 0 to 1");
  static const char *const kReductions[] = {"mean", "sum", "none"};
  const auto *reduction = std::ranges::find_if(
      kReductions, [&](const char *m) { return a[5].kind == Value::Str && a[5].text == m; });
  if (reduction == std::end(kReductions))
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(5),
                    "the reduction of 'cross_entropy' is \"mean\", \"sum\" or \"none\"");
  const DType dtype = info(a[0].dtype).bits < 32 ? DType::F32 : a[0].dtype; // a loss is at least f32
  int weights = -1;
  if (a.given(3) && a[3].kind != Value::None) {
    a[3] = ctx.floatOperand(std::move(a[3]), a.locOf(3), "cross_entropy");
    if (a[3].isError()) return Value::error();
    if (ctx.graphDims(a[3]) != Dims{ctx.graphDims(a[0]).back()})
      return ctx.fail(Code::E_SHAPE, a.locOf(3),
                      "the weights of 'cross_entropy' are one per class, [" +
                          ctx.graphDims(a[0]).back().text() + "], found " + ctx.graphName(a[3]));
    weights = ctx.graphNode(ctx.cast(std::move(a[3]), dtype, loc), loc);
  }
  a[0] = ctx.cast(std::move(a[0]), dtype, loc);
  std::vector<int> args = {ctx.graphNode(a[0], loc), ctx.graphNode(a[1], loc)};
  if (weights >= 0) args.push_back(weights);
  const bool isEach = *reduction == kReductions[2];
  Value r =
      ctx.graphValue(GraphOp::CrossEntropy, dtype, isEach ? std::move(rows) : Dims(), loc, std::move(args));
  if (r.isError()) return r;
  ctx.graphLast().ints = {*ignoredLabel, reduction - kReductions};
  ctx.graphLast().number = smoothing;
  return r;
}

/// Are `heads` heads of q a multiple of the `groups` heads of k? Of a product that is one argument, "G*Hk", a
/// launch checks it.
static bool isMultipleOfHeads(Elaborator &ctx, const DimExpr &heads, const DimExpr &groups, Range loc) {
  if (divideExactly(heads, groups)) return true;
  const std::string product = "*" + heads.text() + "*", factor = groups.text();
  if (!ctx.isDim(factor) || product.find_first_of("+-(") != std::string::npos ||
      product.find("*" + factor + "*") == std::string::npos)
    return false;
  // No heads are a multiple of no heads, and only they are.
  const std::optional<DimExpr> divisor = apply("max", groups, 1), one = apply("min", heads, 1);
  const std::optional<DimExpr> rest = divisor ? apply("mod", heads, *divisor) : std::nullopt;
  const std::optional<DimExpr> none = rest ? subtract(0, *rest) : std::nullopt;
  const std::optional<DimExpr> some = one ? subtract(groups, *one) : std::nullopt;
  const std::string says = heads.text() + " heads of q are no multiple of " + factor + " heads of k";
  return none && some && ctx.graphRequire(*some, Code::E_SHAPE, says, loc) &&
         ctx.graphRequire(*none, Code::E_SHAPE, says, loc);
}

Value graphAttention(Elaborator &ctx, GraphCall &a) {
  const Range loc = a.loc;
  for (size_t i = 0; i < 3; ++i)
    if (a[i].isError() || !ctx.graphTensor(a[i], a.locOf(i), 2)) return Value::error();
  for (size_t i = 0; i < 3; ++i) {
    if (!isFloat(a[i].dtype))
      return ctx.fail(Code::E_TYPE, a.locOf(i), "'flash_attention' takes floats, found " + describe(a[i]));
    if (a[i].dtype != a[0].dtype)
      return ctx.fail(Code::E_TYPE_MIX, a.locOf(i),
                      "'flash_attention' takes q, k and v of one dtype, found " + describe(a[0]) + " and " +
                          describe(a[i]),
                      std::string("convert it with ts.cast(x, ts.") + name(a[0].dtype) + ")");
  }
  auto isGiven = [&](size_t i) { return a.given(i) && a[i].kind != Value::None; };
  if (isGiven(9) != isGiven(10))
    return ctx.fail(Code::E_ARGUMENTS, loc, "'past_k' and 'past_v' are given together");
  for (size_t i : {size_t(1), size_t(2)}) { // the past keys and values come first
    if (!isGiven(i + 8)) continue;
    GraphCall call{*findFunction("tessera.op", "concat"), a.source, loc, {}, {a.locOf(i + 8), loc}};
    std::vector<Value> both;
    both.push_back(std::move(a[i + 8]));
    both.push_back(std::move(a[i]));
    call.values.emplace_back(Value::tuple(std::move(both)));
    call.values.emplace_back(Value::integer(-2));
    a[i] = graphConcat(ctx, call);
    if (a[i].isError()) return Value::error();
  }
  Dims q = ctx.graphDims(a[0]), k = ctx.graphDims(a[1]), v = ctx.graphDims(a[2]);
  auto refuse = [&](const std::string &message) {
    return ctx.fail(
        Code::E_SHAPE, loc,
        "'flash_attention' of q " + ctx.graphName(a[0]) + ", k " + ctx.graphName(a[1]) + " and v " +
            ctx.graphName(a[2]) + ": " + message,
        "q is [..., Hq, Sq, D]; k and v are [..., Hk, Sk, D]; Hq is Hk, or declared as a multiple of it: "
        "\"4*Hk\", or \"G*Hk\" with any other name");
  };
  size_t rank = q.size();
  if (k.size() != rank) return refuse("q and k have another number of dims");
  if (k != v) return refuse("k and v differ in shape");
  if (q.back() != k.back()) return refuse(q.back().text() + " would have to equal " + k.back().text());
  for (size_t i = 0; i + 3 < rank; ++i)
    if (q[i] != k[i]) return refuse(q[i].text() + " would have to equal " + k[i].text());
  if (rank > 2 && !isMultipleOfHeads(ctx, q[rank - 3], k[rank - 3], loc))
    return refuse(q[rank - 3].text() + " heads of q are not known to be a multiple of " + k[rank - 3].text());
  // A program keeps whole rows, so their length is compiled in if it is known.
  for (const auto &[dim, value] : ctx.options_.dims)
    if (q.back() == DimExpr::symbol(dim)) ctx.wanted_.insert(dim);
  bool causal = false;
  for (size_t i : {size_t(3), size_t(4)})
    if (a.given(i) && !ctx.graphFlag(a[i], a.locOf(i), i == 3 ? "is_causal" : "causal", causal))
      return Value::error();
  if (a.given(3) && a.given(4))
    return ctx.fail(Code::E_ARGUMENTS, loc, "'is_causal' and 'causal' are two names of one argument");
  double scale = std::numeric_limits<double>::quiet_NaN();
  if (a.given(5) && a[5].kind != Value::None) {
    if (!ctx.graphNumber(a[5], a.locOf(5), "scale", scale)) return Value::error();
    if (!std::isfinite(scale)) return ctx.fail(Code::E_ARGUMENTS, a.locOf(5), "the scale is a finite number");
  }
  Dims scores = q;
  scores.back() = k[rank - 2];
  for (size_t i : {size_t(6), size_t(7)}) { // the mask, the bias
    if (!isGiven(i)) continue;
    const char *what = i == 6 ? "mask" : "bias";
    if (!ctx.graphTensor(a[i], a.locOf(i), 0)) return Value::error();
    if (i == 6 ? a[i].dtype != DType::Bool : !isFloat(a[i].dtype))
      return ctx.fail(Code::E_TYPE, a.locOf(i),
                      std::string("the ") + what + " of 'flash_attention' is of " +
                          (i == 6 ? "bool" : "floats") + ", found " + describe(a[i]),
                      i == 6 ? "a tensor of floats that is added to the scores is the bias"
                             : "a tensor of bool is the mask");
    const Dims own = ctx.graphDims(a[i]);
    bool fits = own.size() <= rank;
    for (size_t d = 0; fits && d < own.size(); ++d)
      fits = own[d].isOne() || own[d] == scores[rank - own.size() + d];
    if (!fits)
      return ctx.fail(Code::E_SHAPE, a.locOf(i),
                      std::string("the ") + what + " " + ctx.graphName(a[i]) +
                          " does not broadcast to the scores " + dimsText(scores));
  }
  Value softcap = Value::none();
  if (isGiven(8)) {
    double cap = 0;
    if (!ctx.graphNumber(a[8], a.locOf(8), "softcap", cap)) return Value::error();
    if (!(cap > 0) || std::isinf(cap))
      return ctx.fail(Code::E_ARGUMENTS, a.locOf(8), "softcap is a finite number above 0");
    softcap = Value::real(cap, DType::F64, false);
  }
  std::vector<int> args;
  for (size_t i = 0; i < 3; ++i)
    args.push_back(ctx.graphNode(a[i], loc));
  for (size_t i : {size_t(7), size_t(6)})
    args.push_back(isGiven(i) ? ctx.graphNode(a[i], loc) : -1);
  args.push_back(softcap.isScalar() ? ctx.graphNode(softcap, loc) : -1);
  while (args.back() < 0)
    args.pop_back();
  Value r = ctx.graphValue(GraphOp::Attention, a[0].dtype, std::move(q), loc, std::move(args));
  if (r.isError()) return r;
  ctx.graphLast().ints = {causal};
  ctx.graphLast().number = scale;
  return r;
}

Value graphActivation(Elaborator &ctx, GraphCall &a) {
  return ctx.graphActivation(*a.function.graphOp, std::move(a[0]), a.loc, a.function.name);
}

Value gelu(Elaborator &ctx, GraphCall &a) {
  const bool isTanh = a[1].kind == Value::Str && a[1].text == "tanh";
  const bool isErf = a[1].kind == Value::Str && a[1].text == "none";
  if (!isTanh && !isErf)
    return ctx.fail(Code::E_ARGUMENTS, a.locOf(1), "approximate is \"none\" or \"tanh\"");
  return ctx.graphActivation(isTanh ? GraphOp::GeluTanh : GraphOp::Gelu, std::move(a[0]), a.loc,
                             a.function.name);
}

} // namespace rules
} // namespace tessera::frontend
