// sort, argsort and topk of whole tensors: launches of kernels that sort each row, along the last axis. A row
// that fits a tile is sorted by the tile function of the same name. SortKernel.h has the ways to sort a
// longer one.
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/SortKernel.h"
#include <map>
#include <memory>

namespace tessera::frontend::rules {

namespace {

/// The dtype that elements are sorted in: those of few bits, and bool, have the same order in another one.
DType sortedAs(DType t) {
  if (t == DType::Bool) return DType::I8;
  if (t == DType::TF32) return DType::F32;
  return isFloat(t) && info(t).bits < 16 ? DType::F16 : t;
}

/// Sorts the rows along `axis`; gives the results of the function.
std::vector<Value> sortAlong(Elaborator &ctx, GraphCall &a, Value x, int64_t axis, bool isDescending,
                             int64_t k) {
  const Range loc = a.loc;
  const Dims dims = ctx.graphDims(x);
  const auto rank = static_cast<int64_t>(dims.size());
  const DimExpr extent = dims[static_cast<size_t>(axis)];
  std::vector<int64_t> axisLast;
  std::optional<DimExpr> rows = DimExpr(1);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    axisLast.push_back(d);
    if (rows) rows = multiply(*rows, dims[static_cast<size_t>(d)]);
  }
  if (!rows) {
    ctx.fail(Code::E_SHAPE, loc, "the number of rows has no short expression",
             "name the dims in the function's signature");
    return {};
  }
  axisLast.push_back(axis);
  const bool isLast = axis + 1 == rank;
  x = ctx.cast(std::move(x), sortedAs(x.dtype), loc);
  if (!isLast) x = ctx.graphTranspose(std::move(x), axisLast, loc);
  x = ctx.graphReshapeTo(std::move(x), {*rows, extent}, loc);
  if (x.isError()) return {};

  std::unique_ptr<SortKernel> kernel =
      std::make_unique<DigitSort>(a.function.id, x.dtype, isDescending, extent.constant(), k);
  if (ctx.options_.sharesTiles && kernel->isLong())
    kernel = std::make_unique<MergeSort>(a.function.id, x.dtype, isDescending, extent, k);
  const DimExpr kept = k ? DimExpr(k) : extent;
  std::map<std::string, Value> tensors = {{"x", x}};
  std::vector<Value> results;
  for (const SortKernel::Buffer &b : kernel->buffers()) {
    Value v = ctx.graphEmpty(b.dtype, {*rows, kernel->extentOf(b, extent).value_or(extent)}, loc);
    if (b.isResult) results.push_back(v);
    tensors.emplace(b.name, std::move(v));
  }
  for (const SortKernel::Launch &launch : kernel->launches()) {
    std::vector<std::optional<Value>> operands;
    for (const std::string &tensor : launch.tensors)
      operands.emplace_back(tensors.at(tensor));
    for (int64_t number : launch.numbers)
      operands.emplace_back(Value::integer(number));
    if (ctx.graphLaunchOwn(launch.text, std::move(operands), a.source).isError()) return {};
  }
  Dims moved;
  std::vector<int64_t> back(static_cast<size_t>(rank));
  for (size_t d = 0; d < axisLast.size(); ++d) {
    moved.push_back(axisLast[d] == axis ? kept : dims[static_cast<size_t>(axisLast[d])]);
    back[static_cast<size_t>(axisLast[d])] = static_cast<int64_t>(d);
  }
  for (Value &v : results) {
    v = ctx.graphReshapeTo(std::move(v), moved, loc);
    if (!isLast) v = ctx.graphTranspose(std::move(v), back, loc);
  }
  return results;
}

/// The tensor and the axis of a call; nothing, with an error, if they do not fit.
std::optional<int64_t> sortedAxis(Elaborator &ctx, GraphCall &a, size_t axisAt) {
  if (a[0].isError() || !ctx.graphTensor(a[0], a.locOf(0), 1)) return std::nullopt;
  if (isPacked(a[0].dtype)) {
    ctx.refusePacked(a[0].dtype, a.function.name, a.locOf(0));
    return std::nullopt;
  }
  std::optional<int64_t> axis = ctx.graphAxis(a[axisAt], a.locOf(axisAt), ctx.graphDims(a[0]).size());
  if (!axis) return axis;
  const DimExpr &extent = ctx.graphDims(a[0])[static_cast<size_t>(*axis)];
  const std::optional<DimExpr> rest = subtract(DimExpr(INT32_MAX), extent);
  const std::string says = std::string("'") + a.function.name +
                           "' takes rows of less than 2^31 elements, found " + ctx.graphName(a[0]);
  if (!rest || !ctx.graphRequire(*rest, Code::E_SHAPE, says, a.loc)) return std::nullopt;
  return axis;
}

} // namespace

Value graphSort(Elaborator &ctx, GraphCall &a) {
  const std::optional<int64_t> axis = sortedAxis(ctx, a, 1);
  bool isDescending = false;
  if (!axis || !ctx.graphFlag(a[2], a.locOf(2), "descending", isDescending)) return Value::error();
  const DType dtype = a[0].dtype;
  std::vector<Value> results = sortAlong(ctx, a, std::move(a[0]), *axis, isDescending, 0);
  if (results.empty()) return Value::error();
  return a.function.id == FunctionId::Sort ? ctx.cast(std::move(results[0]), dtype, a.loc)
                                           : std::move(results[0]);
}

Value graphTopK(Elaborator &ctx, GraphCall &a) {
  const std::optional<int64_t> axis = sortedAxis(ctx, a, 2);
  const std::optional<int64_t> k = ctx.staticInt(a[1], a.locOf(1), "the number of elements");
  bool isLargest = false;
  if (!axis || !k || !ctx.graphFlag(a[3], a.locOf(3), "largest", isLargest)) return Value::error();
  const DimExpr &extent = ctx.graphDims(a[0])[static_cast<size_t>(*axis)];
  const std::string says =
      "'topk' takes between 1 and " + extent.text() + " elements of this axis, found " + std::to_string(*k);
  const std::optional<DimExpr> rest = subtract(extent, DimExpr(*k));
  if (*k < 1) return ctx.fail(Code::E_SHAPE, a.locOf(1), says);
  if (!rest || !ctx.graphRequire(*rest, Code::E_SHAPE, says, a.locOf(1))) return Value::error();
  const DType dtype = a[0].dtype;
  std::vector<Value> results = sortAlong(ctx, a, std::move(a[0]), *axis, isLargest, *k);
  if (results.empty()) return Value::error();
  results[0] = ctx.cast(std::move(results[0]), dtype, a.loc);
  return Value::tuple(std::move(results));
}

} // namespace tessera::frontend::rules
