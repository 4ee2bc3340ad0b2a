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

} // namespace tessera::frontend
