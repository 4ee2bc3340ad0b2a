// Shapes in graph functions: transposes, reshapes, slices, joins, and tensors made of nothing.
#include "compiler/frontend/sema/ElabGraphCalls.h"
#include <algorithm>
#include <numeric>

namespace tessera::frontend {

std::optional<int64_t> Elaborator::graphAxis(const Value &v, Range loc, size_t rank) {
  std::optional<int64_t> axis = staticInt(v, loc, "an axis");
  if (!axis) return std::nullopt;
  auto n = static_cast<int64_t>(rank);
  if (*axis < -n || *axis >= n) {
    fail(Code::E_AXIS, loc,
         "axis " + std::to_string(*axis) + " is outside a tensor of " + std::to_string(rank) +
             (rank == 1 ? " dim" : " dims"));
    return std::nullopt;
  }
  return *axis < 0 ? *axis + n : *axis;
}

/// One axis or several, in order, each once.
bool Elaborator::graphAxes(const Value &v, Range loc, size_t rank, std::vector<int64_t> &out) {
  std::vector<Value> items;
  if (v.kind == Value::Tuple)
    items = v.items;
  else
    items.push_back(v);
  for (const Value &item : items) {
    std::optional<int64_t> axis = graphAxis(item, loc, rank);
    if (!axis) return false;
    out.push_back(*axis);
  }
  std::ranges::sort(out);
  if (std::ranges::adjacent_find(out) == out.end()) return true;
  fail(Code::E_AXIS, loc, "an axis is named twice");
  return false;
}

bool Elaborator::graphRequire(const DimExpr &value, Code code, const std::string &says, Range loc) {
  if (value.constant().value_or(0) < 0) {
    fail(code, loc, says);
    return false;
  }
  auto isSame = [text = value.text()](const GraphFunction::Check &c) { return c.value == text; };
  if (!value.isNeverNegative() && std::ranges::none_of(graph_->out.checks, isSame))
    graph_->out.checks.push_back({value.text(), says + " (line " + std::to_string(loc.line) + ")"});
  return true;
}

/// A tuple of extents; a single integer counts as one. -1 is left for the caller.
bool Elaborator::graphShape(const Value &v, Range loc, Dims &out) {
  if (v.isError()) return false;
  std::vector<Value> items;
  if (v.kind == Value::Tuple)
    items = v.items;
  else
    items.push_back(v);
  for (const Value &item : items) {
    std::optional<DimExpr> d = graphDimOf(item, loc, "an extent");
    if (!d) return false;
    out.push_back(std::move(*d));
  }
  return true;
}

Value Elaborator::graphTranspose(Value v, std::vector<int64_t> perm, Range loc) {
  if (v.isError()) return v;
  Dims dims = graphDims(v);
  if (perm.empty()) {
    if (dims.size() < 2)
      return fail(Code::E_AXIS, loc, "a transposition needs at least two dims, found " + graphName(v));
    perm.resize(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  }
  Dims out;
  for (int64_t axis : perm)
    out.push_back(dims[static_cast<size_t>(axis)]);
  std::optional<DType> accum = v.accum;
  int node = graphNode(v, loc);
  Value r = graphValue(GraphOp::Transpose, v.dtype, std::move(out), loc, {node});
  if (r.isError()) return r;
  graphLast().ints = std::move(perm);
  graph_->names.back() = graph_->names[static_cast<size_t>(v.index)];
  if (!graph_->names.back().empty()) graph_->names.back() += ".T";
  r.accum = accum;
  return r;
}

Value Elaborator::graphTransposeCall(GraphArguments &a, Range loc) {
  if (a[0].isError() || !graphTensor(a[0], a.loc(0), 0)) return Value::error();
  if (!a.given(1) || a[1].kind == Value::None) return graphTranspose(std::move(a[0]), {}, loc);
  size_t rank = graphDims(a[0]).size();
  if (a[1].isError()) return Value::error();
  if (a[1].kind != Value::Tuple || a[1].items.size() != rank)
    return fail(Code::E_AXIS, a.loc(1),
                "the perm of " + graphName(a[0]) + " is a tuple of its " + std::to_string(rank) + " axes");
  std::vector<int64_t> perm;
  for (const Value &item : a[1].items) {
    std::optional<int64_t> axis = graphAxis(item, a.loc(1), rank);
    if (!axis) return Value::error();
    if (std::ranges::find(perm, *axis) != perm.end())
      return fail(Code::E_AXIS, a.loc(1), "axis " + std::to_string(*axis) + " stands in the perm twice");
    perm.push_back(*axis);
  }
  return graphTranspose(std::move(a[0]), std::move(perm), loc);
}

static std::optional<DimExpr> sizeOf(const Dims &dims) {
  std::optional<DimExpr> size = DimExpr(1);
  for (const DimExpr &d : dims)
    if (size) size = multiply(*size, d);
  return size;
}

/// Also where the dims stay as they are: a value of its own, which keeps when a kernel updates `v`.
Value Elaborator::graphReshapeTo(Value v, Dims dims, Range loc) {
  if (v.isError()) return v;
  bool isSame = graphDims(v) == dims;
  int node = graphNode(v, loc);
  Value r = graphValue(GraphOp::Reshape, v.dtype, std::move(dims), loc, {node});
  if (r.isError() || !isSame) return r;
  graph_->names.back() = graph_->names[static_cast<size_t>(node)];
  r.accum = v.accum;
  return r;
}

Value Elaborator::graphReshape(Value v, const Value &shape, Range loc, Range shapeLoc) {
  Dims dims;
  if (v.isError() || !graphTensor(v, loc, 0) || !graphShape(shape, shapeLoc, dims)) return Value::error();
  auto isFree = [](const DimExpr &d) { return d.constant() == -1; };
  auto free = std::ranges::find_if(dims, isFree);
  for (auto it = dims.begin(); it != dims.end(); ++it)
    if (it->constant().value_or(0) < 0 && it != free)
      return fail(Code::E_SHAPE, shapeLoc,
                  isFree(*it) ? "at most one extent of a shape is -1" : "an extent cannot be " + it->text());
  std::optional<DimExpr> have = sizeOf(graphDims(v)), want;
  if (free != dims.end()) {
    *free = DimExpr(1);
    std::optional<DimExpr> others = sizeOf(dims);
    std::optional<DimExpr> rest = have && others ? divideExactly(*have, *others) : std::nullopt;
    if (!rest)
      return fail(Code::E_SHAPE, shapeLoc,
                  graphName(v) + " has " + (have ? have->text() : "an unknown number of") +
                      " elements, which " + (others ? others->text() : "this shape") +
                      " is not known to divide",
                  "write the extent in place of -1");
    *free = std::move(*rest);
    return graphReshapeTo(std::move(v), std::move(dims), loc);
  }
  want = sizeOf(dims);
  if (!have || !want || *have != *want)
    return fail(
        Code::E_SHAPE, shapeLoc,
        graphName(v) + " cannot be reshaped to " + dimsText(dims) + ": " +
            (have ? have->text() : "its number of") + " elements would have to equal " +
            (want ? want->text() : "theirs"),
        "a quotient counts as exact only where the divisor is a factor: declare \"H*K\" rather than D // H");
  return graphReshapeTo(std::move(v), std::move(dims), loc);
}

Value Elaborator::graphBroadcastTo(Value v, const Dims &dims, Range loc) {
  if (v.isError()) return v;
  const Dims &from = graphDims(v);
  bool fits = from.size() <= dims.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const DimExpr &d = from[from.size() - 1 - i];
    fits = d.isOne() || d == dims[dims.size() - 1 - i];
  }
  if (!fits)
    return fail(Code::E_SHAPE, loc, graphName(v) + " does not broadcast to " + dimsText(dims),
                "shapes are aligned at their last axis; insert axes with x[:, None]");
  for (const DimExpr &d : dims)
    if (!graphRequire(d, Code::E_SHAPE, "an extent cannot be " + d.text(), loc)) return Value::error();
  int node = graphNode(v, loc);
  return graphValue(GraphOp::Broadcast, v.dtype, dims, loc, {node});
}

Value Elaborator::graphConcat(GraphArguments &a, Range loc) {
  Value &list = a[0];
  if (list.isError()) return list;
  if (list.kind != Value::Tuple || list.items.empty())
    return fail(Code::E_TYPE, a.loc(0), "'concat' takes a list of tensors",
                "write ts.concat([a, b], axis=0)");
  std::optional<int64_t> axis;
  Dims out;
  std::vector<int> args;
  for (size_t i = 0; i < list.items.size(); ++i) {
    Value &v = list.items[i];
    if (v.isError() || !graphTensor(v, a.loc(0), 1)) return Value::error();
    const Dims &dims = graphDims(v);
    args.push_back(graphNode(v, loc));
    if (i == 0) {
      axis = a.given(1) ? graphAxis(a[1], a.loc(1), dims.size()) : 0;
      if (!axis) return Value::error();
      out = dims;
      continue;
    }
    const Value &first = list.items[0];
    if (v.dtype != first.dtype)
      return fail(Code::E_TYPE_MIX, loc, "'concat' mixes " + describe(first) + " and " + describe(v));
    Dims others = dims;
    auto at = static_cast<size_t>(*axis);
    if (others.size() == out.size()) others[at] = out[at];
    if (others != out)
      return fail(Code::E_SHAPE, loc,
                  graphName(first) + " and " + graphName(v) + " differ in another axis than " +
                      std::to_string(*axis));
    std::optional<DimExpr> sum = add(out[at], dims[at]);
    if (!sum) return fail(Code::E_SHAPE, loc, "the joined extent is too long an expression");
    out[at] = std::move(*sum);
  }
  DType dtype = list.items[0].dtype;
  Value r = graphValue(GraphOp::Concat, dtype, std::move(out), loc, std::move(args));
  if (!r.isError()) graphLast().ints = {*axis};
  return r;
}

/// Equal parts along an axis, as a tuple.
Value Elaborator::graphSplit(GraphArguments &a, Range loc) {
  Value &v = a[0];
  if (v.isError() || !graphTensor(v, a.loc(0), 1)) return Value::error();
  std::optional<int64_t> parts = staticInt(a[1], a.loc(1), "the number of parts");
  std::optional<int64_t> axis = a.given(2) ? graphAxis(a[2], a.loc(2), graphDims(v).size()) : 0;
  if (!parts || !axis) return Value::error();
  Dims dims = graphDims(v);
  auto at = static_cast<size_t>(*axis);
  std::optional<DimExpr> part =
      *parts >= 1 && *parts <= 256 ? divideExactly(dims[at], DimExpr(*parts)) : std::nullopt;
  if (!part)
    return fail(Code::E_SHAPE, loc,
                dims[at].text() + " of " + graphName(v) + " is not known to split into " +
                    std::to_string(*parts) + " equal parts",
                "take slices: x[:a], x[a:]");
  dims[at] = *part;
  std::vector<Value> items;
  for (int64_t i = 0; i < *parts; ++i) {
    int node = graphNode(v, loc);
    Value r = graphValue(GraphOp::Slice, v.dtype, dims, loc, {node});
    std::optional<DimExpr> start = multiply(*part, DimExpr(i));
    if (r.isError()) return r;
    if (!start) return fail(Code::E_SHAPE, loc, "a part starts too far behind for 64 bits");
    graphLast().texts.assign(dims.size(), "0");
    graphLast().texts[at] = start->text();
    items.push_back(std::move(r));
  }
  return Value::tuple(std::move(items));
}

/// x[a:b, :, i, None]: bounds of ints and dims. A bound that is a negative constant counts from the end.
Value Elaborator::graphSlice(Value v, const ast::Expr &e) {
  const Dims dims = graphDims(v);
  Dims box, kept; // before and behind the removal of indexed axes
  std::vector<std::string> starts;
  bool boxed = false;
  auto fromEnd = [&](std::optional<DimExpr> d, const DimExpr &extent, Range loc) {
    if (!d || d->constant().value_or(0) >= 0) return d;
    d = add(extent, *d);
    if (!d) fail(Code::E_INDEX, loc, extent.text() + " less this is too long an expression");
    return d;
  };
  auto bound = [&](const ast::Expr *at, const DimExpr &otherwise,
                   const DimExpr &extent) -> std::optional<DimExpr> {
    if (!at) return otherwise;
    return fromEnd(graphDimOf(evaluate(*at), at->loc, "a bound"), extent, at->loc);
  };
  for (size_t i = 1; i < e.items.size(); ++i) {
    const ast::Expr &item = *e.items[i];
    if (item.kind == ast::Expr::None) {
      kept.push_back(DimExpr(1));
      continue;
    }
    if (box.size() == dims.size())
      return fail(Code::E_INDEX, e.loc, graphName(v) + " is indexed along more dims than it has");
    const DimExpr &extent = dims[box.size()];
    if (item.kind != ast::Expr::Slice) {
      Value index = evaluate(item);
      if (index.isGraph())
        return fail(Code::E_INDEX, item.loc, "a tensor cannot index another",
                    "rows by number are ts.embedding(table, ids)");
      std::optional<DimExpr> at = fromEnd(graphDimOf(index, item.loc, "an index"), extent, item.loc);
      if (!at) return Value::error();
      std::optional<DimExpr> rest = subtract(extent, *at), behind = rest ? subtract(*rest, 1) : std::nullopt;
      if (!behind) return fail(Code::E_INDEX, item.loc, "this index is too long an expression");
      for (const DimExpr &distance : {*at, *behind})
        if (!graphRequire(distance, Code::E_INDEX,
                          "index " + at->text() + " is outside a dim of " + extent.text() + " of " +
                              graphName(v),
                          item.loc))
          return Value::error();
      starts.push_back(at->text());
      box.push_back(DimExpr(1));
      boxed = true;
      continue;
    }
    if (item.items[2]) {
      Value step = evaluate(*item.items[2]);
      if (step.isError()) return step;
      if (!step.isConstInt() || step.intValue != 1)
        return fail(Code::E_SLICE, item.items[2]->loc, "a slice of a tensor has step 1",
                    "slices with other steps are not part of the language");
    }
    std::optional<DimExpr> lo = bound(item.items[0].get(), DimExpr(0), extent);
    std::optional<DimExpr> hi = bound(item.items[1].get(), extent, extent);
    if (!lo || !hi) return Value::error();
    std::optional<DimExpr> length = subtract(*hi, *lo), behind = subtract(extent, *hi);
    if (!length || !behind) return fail(Code::E_SLICE, item.loc, "these bounds are too long expressions");
    for (const DimExpr &distance : {*lo, *length, *behind})
      if (!graphRequire(distance, Code::E_SLICE,
                        lo->text() + ":" + hi->text() + " is outside a dim of " + extent.text() + " of " +
                            graphName(v),
                        item.loc))
        return Value::error();
    boxed |= *length != extent;
    starts.push_back(lo->text());
    box.push_back(*length);
    kept.push_back(*length);
  }
  while (box.size() < dims.size()) {
    kept.push_back(dims[box.size()]);
    box.push_back(dims[box.size()]);
    starts.push_back("0");
  }
  if (boxed) {
    int node = graphNode(v, e.loc);
    v = graphValue(GraphOp::Slice, v.dtype, std::move(box), e.loc, {node});
    if (v.isError()) return v;
    graphLast().texts = std::move(starts);
  }
  if (boxed && kept == graphDims(v)) return v;
  return graphReshapeTo(std::move(v), std::move(kept), e.loc);
}

/// arange(n), or arange(start, stop, step): an i32 tensor, or i64 where the start is a dim.
Value Elaborator::graphArange(GraphArguments &a, Range loc) {
  int64_t step = 1;
  if (a.given(2)) {
    std::optional<int64_t> known = staticInt(a[2], a.loc(2), "the step of 'arange'");
    if (!known) return Value::error();
    if (*known == 0 || *known == INT64_MIN)
      return fail(Code::E_LOOP_STEP, a.loc(2), "the step of 'arange' is not " + std::to_string(*known));
    step = *known;
  }
  const Value start = a.given(1) ? asOperand(a[0], a.loc(0)) : Value::integer(0);
  size_t end = a.given(1) ? 1 : 0;
  std::optional<DimExpr> from = graphDimOf(start, a.loc(0), "the start of 'arange'"),
                         to = graphDimOf(a[end], a.loc(end), "the end of 'arange'");
  if (!from || !to) return Value::error();
  // ceildiv(distance, |step|), and nothing past an end that is known to be passed.
  std::optional<DimExpr> n = step > 0 ? subtract(*to, *from) : subtract(*from, *to);
  const int64_t stride = step > 0 ? step : -step;
  if (n && stride != 1)
    if ((n = add(*n, DimExpr(stride - 1)))) n = apply("floordiv", *n, DimExpr(stride));
  if (!n) return fail(Code::E_SHAPE, loc, "the length of 'arange' is too long an expression");
  if (a.given(1) && n->constant().value_or(0) < 0) n = DimExpr(0);
  if (!graphRequire(*n, Code::E_SHAPE, "the length of 'arange' cannot be " + n->text(), loc))
    return Value::error();
  Value r = graphValue(GraphOp::Iota, DType::I32, {*n}, loc);
  if (r.isError()) return r;
  graphLast().ints = {0};
  if (step != 1) r = binary(Op::Mul, std::move(r), Value::integer(step), loc);
  bool isZero = start.isConstInt() && start.intValue == 0;
  return isZero ? std::move(r) : binary(Op::Add, std::move(r), start, loc);
}

/// zeros and full.
Value Elaborator::graphMake(const BuiltinInfo &b, GraphArguments &a, Range loc) {
  if (b.id == Builtin::Arange) return graphArange(a, loc);
  bool isFull = b.id == Builtin::Full;
  Dims dims;
  bool ok = graphShape(a[0], a.loc(0), dims);
  Value fill = isFull ? asOperand(std::move(a[1]), a.loc(1)) : Value::real(0);
  size_t at = isFull ? 2 : 1;
  DType t = DType::F32;
  if (a.given(at)) {
    if (a[at].kind != Value::DTypeName)
      return a[at].isError() ? Value::error()
                             : fail(Code::E_DTYPE, a.loc(at),
                                    "expected a dtype such as ts.f32, found " + describe(a[at]));
    t = a[at].dtype;
  } else if (isFull && !fill.isError()) {
    t = strengthen(fill).dtype;
  }
  if (!ok || fill.isError()) return Value::error();
  if (!isFull && !isFloat(t)) fill = Value::integer(0, t, false);
  if (fill.dtype != t && (!fill.weak || (isFloat(fill.dtype) && !isFloat(t))))
    return fail(Code::E_TYPE_MIX, loc,
                std::string("'full' is given ") + describe(fill) + " for a tensor of " + name(t),
                std::string("cast the value with ts.") + name(t) + "(x)");
  return graphBroadcastTo(convert(std::move(fill), t, loc), dims, loc);
}

} // namespace tessera::frontend
