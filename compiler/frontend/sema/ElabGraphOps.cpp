// Library ops of graph functions: products, reductions, normalisations, losses, attention.
#include "compiler/frontend/sema/ElabGraphCalls.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::frontend {

/// The operands as floats of one dtype: f16 or bf16 beside f32 widens, anything else has to agree.
bool Elaborator::graphUnifyFloats(std::vector<Value *> operands, Range loc, const char *what) {
  for (Value *v : operands) {
    *v = floatOperand(std::move(*v), loc, what);
    if (v->isError()) return false;
  }
  for (size_t round = 0; round < 2; ++round) // the second one carries a widening back
    for (size_t i = 1; i < operands.size(); ++i)
      if (!unify(*operands[0], *operands[i], loc, what)) return false;
  return true;
}

Value Elaborator::graphMatmul(Value a, Value b, bool transA, bool transB, std::optional<DType> dtype,
                              Range loc) {
  if (a.isError() || b.isError()) return Value::error();
  Value *sides[2] = {&a, &b};
  bool transposed[2] = {transA, transB};
  Dims dims[2];
  for (int i = 0; i < 2; ++i) {
    Value &v = *sides[i];
    if (!v.isGraph() || graphDims(v).size() < 2)
      return fail(
          Code::E_SHAPE, loc, "a matrix product takes tensors of two dims or more, found " + graphName(v),
          v.isGraph() && graphDims(v).size() == 1 ? "make a matrix of it: x[None, :] or x[:, None]" : "");
    // .T of an operand is a flag, not a copy, unless a kernel has updated the operand since.
    const GraphValue &node = graph_->out.values[static_cast<size_t>(graphNode(v, loc))];
    auto rank = static_cast<int64_t>(node.ints.size());
    if (node.op == GraphOp::Transpose && node.ints[static_cast<size_t>(rank - 1)] == rank - 2 &&
        node.ints[static_cast<size_t>(rank - 2)] == rank - 1 &&
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
                std::string("cast one of them: ts.cast(x, ts.") + name(a.dtype) + ")");
  if (a.dtype == DType::Bool) return fail(Code::E_TYPE, loc, "a matrix product takes numbers, not bool");
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
  if (!v.isError()) graphLast().ints = {transposed[0], transposed[1]};
  return v;
}

Value Elaborator::graphReduce(const BuiltinInfo &b, GraphArguments &a, Range loc) {
  Value v = std::move(a[0]);
  Op op = b.id == Builtin::Max      ? Op::Max
          : b.id == Builtin::Min    ? Op::Min
          : b.id == Builtin::Prod   ? Op::Prod
          : b.id == Builtin::ArgMax ? Op::ArgMax
          : b.id == Builtin::ArgMin ? Op::ArgMin
                                    : Op::Sum;
  bool isMean = b.id == Builtin::Mean, isArg = op == Op::ArgMax || op == Op::ArgMin;
  if (isMean) v = floatOperand(std::move(v), a.loc(0), "mean");
  if (v.isError()) return v;
  if (!v.isGraph())
    return fail(Code::E_TYPE, a.loc(0), std::string("'") + b.name + "' takes a tensor, found " + describe(v),
                b.id == Builtin::Max   ? "the larger of two values is ts.maximum(a, b)"
                : b.id == Builtin::Min ? "the smaller of two values is ts.minimum(a, b)"
                                       : "");
  std::vector<int64_t> axes;
  size_t rank = graphDims(v).size();
  bool whole = !a.given(1) || a[1].kind == Value::None;
  if (!whole && !graphAxes(a[1], a.loc(1), rank, axes)) return Value::error();
  bool keep = false;
  if (a.given(2) && !graphFlag(a[2], a.loc(2), "keepdims", keep)) return Value::error();
  if (v.dtype == DType::Bool && op != Op::Sum && op != Op::Prod)
    return fail(Code::E_TYPE, loc, std::string("'") + b.name + "' takes numbers, not bool",
                "cast to ts.i32 first");
  if ((op == Op::Sum || op == Op::Prod) && !isFloat(v.dtype) && v.dtype != DType::I64)
    v = cast(std::move(v), DType::I32, loc);
  DType original = v.dtype;
  if (isMean || op == Op::Sum || op == Op::Prod) {
    if (!checkAccumulator(v, a.loc(0))) return Value::error();
    if (v.accum == DType::F64) v = cast(std::move(v), DType::F64, loc);
  }
  if (isArg && !whole && axes.size() != 1)
    return fail(Code::E_AXIS, a.loc(1), std::string("'") + b.name + "' takes one axis, or none");
  Dims full = graphDims(v);
  if (whole && isArg && rank != 1) { // the index into the flattened tensor, as in NumPy
    std::optional<DimExpr> count = DimExpr(1);
    for (const DimExpr &d : full)
      if (count) count = multiply(*count, d);
    if (!count) return fail(Code::E_SHAPE, loc, "the size of this tensor has no short expression");
    v = graphReshapeTo(std::move(v), {*count}, loc);
    if (v.isError()) return v;
    axes = {0};
    full = {*count};
  } else if (whole) {
    for (size_t i = 0; i < rank; ++i)
      axes.push_back(static_cast<int64_t>(i));
  }
  Dims out;
  for (size_t i = 0; i < full.size(); ++i) {
    bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) out.push_back(full[i]);
    if (reduced && keep) out.push_back(DimExpr(1));
  }
  int node = graphNode(v, loc);
  Value r = graphValue(isMean ? GraphOp::Mean : GraphOp::Reduce, isArg ? DType::I32 : v.dtype, std::move(out),
                       loc, {node});
  if (r.isError()) return r;
  graphLast().function = op;
  graphLast().ints = std::move(axes);
  graphLast().keepDims = keep;
  if (keep && whole && isArg && rank != 1) r = graphReshapeTo(std::move(r), Dims(rank, DimExpr(1)), loc);
  return r.dtype == DType::F64 ? cast(std::move(r), original, loc) : r;
}

Value Elaborator::graphSoftmax(GraphOp op, GraphArguments &a, Range loc) {
  Value v = floatOperand(std::move(a[0]), a.loc(0), op == GraphOp::Softmax ? "softmax" : "log_softmax");
  if (v.isError() || !graphTensor(v, a.loc(0), 1)) return Value::error();
  int64_t axis = static_cast<int64_t>(graphDims(v).size()) - 1;
  if (a.given(1)) {
    std::optional<int64_t> asked = graphAxis(a[1], a.loc(1), graphDims(v).size());
    if (!asked) return Value::error();
    axis = *asked;
  }
  int node = graphNode(v, loc);
  Value r = graphValue(op, v.dtype, graphDims(v), loc, {node});
  if (!r.isError()) graphLast().ints = {axis};
  return r;
}

Value Elaborator::graphNorm(GraphOp op, GraphArguments &a, Range loc) {
  bool isLayer = op == GraphOp::LayerNorm;
  const char *what = isLayer ? "layer_norm" : "rms_norm";
  std::vector<Value *> operands = {&a[0]};
  for (size_t i = 1; i < (isLayer ? 3u : 2u); ++i)
    if (a.given(i) && a[i].kind != Value::None) operands.push_back(&a[i]);
  if (!graphUnifyFloats(operands, loc, what)) return Value::error();
  for (size_t i = 0; i < operands.size(); ++i)
    if (!graphTensor(*operands[i], loc, 1)) return Value::error();
  Dims dims = graphDims(a[0]);
  auto axis = static_cast<int64_t>(dims.size()) - 1;
  size_t epsAt = isLayer ? 4 : 2;
  if (isLayer && a.given(3)) {
    std::optional<int64_t> asked = graphAxis(a[3], a.loc(3), dims.size());
    if (!asked) return Value::error();
    axis = *asked;
  }
  double eps = isLayer ? 1e-5 : 1e-6;
  if (a.given(epsAt) && !graphNumber(a[epsAt], a.loc(epsAt), "eps", eps)) return Value::error();
  if (!(eps >= 0) || std::isinf(eps))
    return fail(Code::E_ARGUMENTS, a.loc(epsAt), "eps is a number of at least 0");
  for (size_t i = 1; i < operands.size(); ++i)
    if (graphDims(*operands[i]) != Dims{dims[static_cast<size_t>(axis)]})
      return fail(Code::E_SHAPE, loc,
                  graphName(*operands[i]) + " scales axis " + std::to_string(axis) + " of " +
                      graphName(a[0]) + " and would have to be [" + dims[static_cast<size_t>(axis)].text() +
                      "]");
  std::vector<int> args = {graphNode(a[0], loc)};
  for (size_t i = 1; i < (isLayer ? 3u : 2u); ++i)
    args.push_back(a.given(i) && a[i].kind != Value::None ? graphNode(a[i], loc) : -1);
  Value r = graphValue(op, a[0].dtype, dims, loc, std::move(args));
  if (r.isError()) return r;
  graphLast().ints = {axis};
  graphLast().number = eps;
  return r;
}

Value Elaborator::graphLoss(GraphOp op, GraphArguments &a, Range loc) {
  int64_t ignoredLabel = -100; // torch's default
  if (op == GraphOp::Mse) {
    if (!graphUnifyFloats({&a[0], &a[1]}, loc, "mse")) return Value::error();
    if (!graphTensor(a[0], a.loc(0), 0) || !graphTensor(a[1], a.loc(1), 0)) return Value::error();
    if (graphDims(a[0]) != graphDims(a[1]))
      return fail(Code::E_SHAPE, loc,
                  "'mse' compares tensors of one shape, found " + graphName(a[0]) + " and " +
                      graphName(a[1]));
  } else {
    a[0] = floatOperand(std::move(a[0]), a.loc(0), "cross_entropy");
    if (a[0].isError() || !graphTensor(a[0], a.loc(0), 1) || !graphTensor(a[1], a.loc(1), 0))
      return Value::error();
    if (a[1].dtype != DType::I32 && a[1].dtype != DType::I64)
      return fail(Code::E_TYPE, a.loc(1),
                  "the labels of 'cross_entropy' are i32 or i64, found " + describe(a[1]));
    if (a.given(2)) {
      std::optional<int64_t> asked = staticInt(a[2], a.loc(2), "ignore_index");
      if (!asked) return Value::error();
      ignoredLabel = *asked;
    }
    Dims rows = graphDims(a[0]);
    rows.pop_back();
    if (graphDims(a[1]) != rows)
      return fail(Code::E_SHAPE, loc,
                  "'cross_entropy' takes one label per row: logits " + graphName(a[0]) + " want labels " +
                      dimsText(rows) + ", found " + graphName(a[1]));
  }
  if (info(a[0].dtype).bits < 32) { // a loss is f32 at least
    a[0] = cast(std::move(a[0]), DType::F32, loc);
    if (op == GraphOp::Mse) a[1] = cast(std::move(a[1]), DType::F32, loc);
  }
  int x = graphNode(a[0], loc), y = graphNode(a[1], loc);
  Value r = graphValue(op, a[0].dtype, {}, loc, {x, y});
  if (!r.isError() && op == GraphOp::CrossEntropy) graphLast().ints = {ignoredLabel};
  return r;
}

Value Elaborator::graphGather(GraphArguments &a, Range loc) {
  if (a[0].isError() || a[1].isError()) return Value::error();
  if (!graphTensor(a[0], a.loc(0), 1) || !graphTensor(a[1], a.loc(1), 0)) return Value::error();
  if (a[1].dtype != DType::I32 && a[1].dtype != DType::I64)
    return fail(Code::E_TYPE, a.loc(1), "the ids of 'embedding' are i32 or i64, found " + describe(a[1]),
                "convert them with ts.cast(ids, ts.i32)");
  Dims dims = graphDims(a[1]), table = graphDims(a[0]);
  dims.insert(dims.end(), table.begin() + 1, table.end());
  int x = graphNode(a[0], loc), y = graphNode(a[1], loc);
  return graphValue(GraphOp::Gather, a[0].dtype, std::move(dims), loc, {x, y});
}

Value Elaborator::graphAttention(GraphArguments &a, Range loc) {
  for (size_t i = 0; i < 3; ++i)
    if (a[i].isError() || !graphTensor(a[i], a.loc(i), 2)) return Value::error();
  for (size_t i = 0; i < 3; ++i) {
    if (!isFloat(a[i].dtype))
      return fail(Code::E_TYPE, a.loc(i), "'flash_attention' takes floats, found " + describe(a[i]));
    if (a[i].dtype != a[0].dtype)
      return fail(Code::E_TYPE_MIX, a.loc(i),
                  "'flash_attention' takes q, k and v of one dtype, found " + describe(a[0]) + " and " +
                      describe(a[i]),
                  std::string("convert it with ts.cast(x, ts.") + name(a[0].dtype) + ")");
  }
  Dims q = graphDims(a[0]), k = graphDims(a[1]), v = graphDims(a[2]);
  auto refuse = [&](const std::string &why) {
    return fail(Code::E_SHAPE, loc,
                "'flash_attention' of q " + graphName(a[0]) + ", k " + graphName(a[1]) + " and v " +
                    graphName(a[2]) + ": " + why,
                "q is [..., Hq, Sq, D]; k and v are [..., Hk, Sk, D], and Hq is a multiple of Hk");
  };
  size_t rank = q.size();
  if (k.size() != rank) return refuse("q and k have another number of dims");
  if (k != v) return refuse("k and v differ in shape");
  if (q.back() != k.back()) return refuse(q.back().text() + " would have to equal " + k.back().text());
  for (size_t i = 0; i + 3 < rank; ++i)
    if (q[i] != k[i]) return refuse(q[i].text() + " would have to equal " + k[i].text());
  if (rank > 2 && !divideExactly(q[rank - 3], k[rank - 3]))
    return refuse(q[rank - 3].text() + " heads of q are not known to be a multiple of " + k[rank - 3].text());
  // A program keeps whole rows: their length is compiled in where it is known.
  for (const auto &[dim, value] : options_.dims)
    if (q.back() == DimExpr::symbol(dim)) wanted_.insert(dim);
  bool causal = false;
  for (size_t i : {size_t(3), size_t(4)})
    if (a.given(i) && !graphFlag(a[i], a.loc(i), i == 3 ? "is_causal" : "causal", causal))
      return Value::error();
  if (a.given(3) && a.given(4))
    return fail(Code::E_ARGUMENTS, loc, "'is_causal' and 'causal' are two names of one argument");
  double scale = std::numeric_limits<double>::quiet_NaN();
  if (a.given(5) && a[5].kind != Value::None) {
    if (!graphNumber(a[5], a.loc(5), "scale", scale)) return Value::error();
    if (!std::isfinite(scale)) return fail(Code::E_ARGUMENTS, a.loc(5), "the scale is a finite number");
  }
  std::vector<int> args;
  for (size_t i = 0; i < 3; ++i)
    args.push_back(graphNode(a[i], loc));
  Value r = graphValue(GraphOp::Attention, a[0].dtype, std::move(q), loc, std::move(args));
  if (r.isError()) return r;
  graphLast().ints = {causal};
  graphLast().number = scale;
  return r;
}

} // namespace tessera::frontend
