// Shapes in graph functions: transposes, reshapes, slices, broadcasts.
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/Names.h"
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

/// One axis or several, in order, each at most once.
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
  if (!value.isNeverNegative()) graphCheck(value.text(), says, loc);
  return true;
}

void Elaborator::graphCheck(const std::string &value, const std::string &says, Range loc) {
  if (std::ranges::find(graph_->out.checks, value, &GraphFunction::Check::value) == graph_->out.checks.end())
    graph_->out.checks.push_back({value, says + " (line " + std::to_string(loc.line) + ")"});
}

/// Evaluates a tuple of extents; a single integer counts as one. The caller handles -1.
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

static std::optional<DimExpr> sizeOf(const Dims &dims) {
  std::optional<DimExpr> size = DimExpr(1);
  for (const DimExpr &d : dims)
    if (size) size = multiply(*size, d);
  return size;
}

/// A value of its own even if the dims are unchanged, which is not affected when a kernel updates `v`.
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

/// The box of these dims from `starts` on, one per axis; with `steps`, every step-th element.
Value Elaborator::graphBox(Value v, Dims dims, std::vector<std::string> starts, std::vector<int64_t> steps,
                           Range loc) {
  const size_t last = dims.size() - 1;
  if (steps.size() > 1 && steps[last] != 1 && steps[last - 1] != 1) {
    // A program's tile spans the last two axes. Of one slice with steps along both, each element would need
    // indices of its own; of two slices, only the second reads by elements.
    Dims outer = dims;
    outer[last] = graphDims(v)[last];
    std::vector<std::string> begins = starts;
    begins[last] = "0";
    std::vector<int64_t> strides = steps;
    strides[last] = 1;
    v = graphBox(std::move(v), std::move(outer), std::move(begins), std::move(strides), loc);
    if (v.isError()) return v;
    std::fill(starts.begin(), starts.end() - 1, "0");
    std::fill(steps.begin(), steps.end() - 1, 1);
  }
  int node = graphNode(v, loc);
  Value r = graphValue(GraphOp::Slice, v.dtype, std::move(dims), loc, {node});
  if (r.isError()) return r;
  graphLast().texts = std::move(starts);
  graphLast().ints = std::move(steps);
  return r;
}

/// x[a:b, ::-1, i, None]: bounds are integers and dims. A negative constant bound counts from the end.
Value Elaborator::graphSlice(Value v, const ast::Expr &e) {
  const Dims dims = graphDims(v);
  Dims box, kept; // before and after indexed axes are removed
  std::vector<std::string> starts;
  std::vector<int64_t> steps; // empty: all 1
  bool boxed = false;
  auto isLeading = [](const ast::Expr &x) { return x.kind == ast::Expr::Name && x.text == names::kLeading; };
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
    if (isLeading(item)) { // the dims that the other entries leave
      const auto others = std::count_if(e.items.begin() + 1, e.items.end(), [&](const ast::ExprPtr &other) {
        return other->kind != ast::Expr::None && !isLeading(*other);
      });
      if (std::count_if(e.items.begin() + 1, e.items.end(),
                        [&](const ast::ExprPtr &x) { return isLeading(*x); }) > 1)
        return fail(Code::E_INDEX, item.loc,
                    "'...' stands for all dims that are not indexed, so it is written once");
      for (size_t rest = dims.size() - std::min(dims.size(), static_cast<size_t>(others)); rest-- > 0;) {
        starts.emplace_back("0");
        kept.push_back(dims[box.size()]);
        box.push_back(dims[box.size()]);
      }
      continue;
    }
    if (box.size() == dims.size())
      return fail(Code::E_INDEX, e.loc, graphName(v) + " is indexed along more dims than it has");
    const DimExpr &extent = dims[box.size()];
    if (item.kind != ast::Expr::Slice) {
      Value index = evaluate(item);
      if (index.isGraph())
        return fail(Code::E_INDEX, item.loc, "a tensor cannot index another",
                    index.dtype == DType::Bool
                        ? "choose elements of the same shape: ts.where(condition, x, 0)"
                        : "write ts.gather(x, indices, axis=0)");
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
    std::optional<int64_t> step = item.items[2] ? staticInt(*item.items[2], "the step of a slice") : 1;
    if (!step) return Value::error();
    if (*step == 0 || *step < -INT32_MAX || *step > INT32_MAX)
      return fail(Code::E_SLICE, item.items[2]->loc,
                  "a slice has a step other than 0 of at most 31 bits, found " + std::to_string(*step));
    const bool isBack = *step < 0;
    if (*step != 1) {
      // Backwards a slice begins at the last element, and ends before -1.
      std::optional<DimExpr> final = subtract(extent, 1);
      std::optional<DimExpr> lo =
          isBack && !final ? final : bound(item.items[0].get(), isBack ? *final : DimExpr(0), extent);
      std::optional<DimExpr> hi = !lo                        ? lo
                                  : isBack && !item.items[1] ? DimExpr(-1)
                                                             : bound(item.items[1].get(), extent, extent);
      if (!lo || !hi) return Value::error();
      std::optional<DimExpr> span = isBack ? subtract(*lo, *hi) : subtract(*hi, *lo);
      std::optional<DimExpr> reach = span ? add(*span, DimExpr(std::abs(*step) - 1)) : span, count = reach;
      if (count) count = apply("floordiv", *count, DimExpr(std::abs(*step)));
      // Forwards: 0 <= lo, hi <= extent. Backwards: -1 <= hi, lo < extent. A slice without elements may end
      // less than a step before its begin, inside the dim: x[1::2] of 2*D elements has D, also if D is 0.
      std::optional<DimExpr> below = isBack ? add(*hi, DimExpr(1)) : lo,
                             above = subtract(extent, isBack ? *lo : *hi);
      if (isBack && above) above = subtract(*above, 1);
      if (!count || !below || !above || !reach)
        return fail(Code::E_SLICE, item.loc, "these bounds are too long expressions");
      for (const DimExpr &distance : {*below, *reach, *above})
        if (!graphRequire(distance, Code::E_SLICE,
                          lo->text() + ":" + hi->text() + ":" + std::to_string(*step) +
                              " is outside a dim of " + extent.text() + " of " + graphName(v),
                          item.loc))
          return Value::error();
      boxed = true;
      steps.resize(dims.size(), 1);
      steps[box.size()] = *step;
      starts.push_back(lo->text());
      box.push_back(*count);
      kept.push_back(*count);
      continue;
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
    v = graphBox(std::move(v), std::move(box), std::move(starts), std::move(steps), e.loc);
    if (v.isError()) return v;
  }
  if (boxed && kept == graphDims(v)) return v;
  return graphReshapeTo(std::move(v), std::move(kept), e.loc);
}

} // namespace tessera::frontend
