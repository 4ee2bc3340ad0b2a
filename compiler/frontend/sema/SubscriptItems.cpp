// The items of a subscript as they are written, and lists of indices.
#include "compiler/frontend/sema/SubscriptEntry.h"
#include <algorithm>
#include <span>

namespace tessera::frontend {

std::optional<std::vector<SubscriptItem>> readItems(Elaborator &ctx, const ast::Expr &subscript) {
  std::span<const ast::ExprPtr> written(subscript.items.begin() + 1, subscript.items.end());
  bool mayBeWhole = written.size() == 1 && subscript.text != ",";
  if (mayBeWhole && written[0]->kind == ast::Expr::Tuple) {
    written = written[0]->items;
    mayBeWhole = false; // a tuple is unpacked once
  }
  std::vector<SubscriptItem> out;
  for (const ast::ExprPtr &x : written) {
    out.push_back({x.get(), {}});
    if (out.back().isLeading() || out.back().isSlice()) continue;
    Value v = ctx.evaluate(*x);
    if (v.isError()) return std::nullopt;
    if (mayBeWhole && v.kind == Value::Tuple && !v.list) {
      out.clear();
      for (Value &item : v.items)
        out.push_back({x.get(), std::move(item)});
      break;
    }
    out.back().index = std::move(v);
  }
  return out;
}

bool isMask(const Value &v) { return (v.isGraph() || v.isScalar()) && v.dtype == DType::Bool; }

void refuseMask(Elaborator &ctx, const std::string &what, Range loc) {
  ctx.fail(Code::E_INDEX, loc,
           what +
               " cannot index a tensor: how many elements it selects depends on its values, and the extents "
               "of a graph function do not",
           "keep the shape: ts.where(mask, x, 0)");
}

static constexpr size_t kLongestList = 64;

bool checkList(Elaborator &ctx, const SubscriptItem &list) {
  const std::vector<Value> &items = list.index.items;
  const ast::Expr &source = *list.source;
  const bool isLiteral = (source.kind == ast::Expr::List || source.kind == ast::Expr::Tuple) &&
                         source.items.size() == items.size();
  for (size_t i = 0; i < items.size(); ++i) {
    const Value &v = items[i];
    const Range loc = isLiteral ? source.items[i]->loc : source.loc;
    const std::string element = "element " + std::to_string(i) + " of a list of indices";
    if (v.isError()) return false;
    if (isMask(v)) {
      refuseMask(ctx, element + " is an integer, found " + describe(v) + ": a mask", loc);
      return false;
    }
    const bool isOne = v.isScalar() || (v.isGraph() && ctx.graphDims(v).empty());
    if (isOne && isInt(v.dtype)) continue;
    ctx.fail(Code::E_INDEX, loc,
             element + " is an integer, found " + (v.isGraph() && !isOne ? ctx.graphName(v) : describe(v)),
             isOne ? "convert it with ts.cast(index, ts.i32)"
                   : "give the indices as a tensor of integers, a parameter for instance");
    return false;
  }
  if (items.size() <= kLongestList) return true;
  ctx.fail(Code::E_INDEX, source.loc,
           "a list of indices has at most " + std::to_string(kLongestList) + " integers, found " +
               std::to_string(items.size()),
           "give the indices as a tensor of integers, a parameter for instance");
  return false;
}

Value listTensor(Elaborator &ctx, const Entry &list) {
  const auto count = static_cast<int64_t>(list.list.size());
  const Value position = ctx.graphPosition({DimExpr(count)}, 0, list.loc);
  if (position.isError()) return position;
  Value indices = ctx.cast(position, DType::I64, list.loc);
  for (int64_t i = count; i-- > 0;) {
    const ListedIndex &at = list.list[static_cast<size_t>(i)];
    Value index = at.known ? ctx.cast(ctx.graphExtent(*at.known), DType::I64, list.loc) : at.computed;
    Value isHere = ctx.binary(Op::Eq, position, Value::integer(i), list.loc);
    if (index.isError() || isHere.isError()) return Value::error();
    indices = ctx.graphSelect(std::move(isHere), std::move(index), std::move(indices), list.loc);
  }
  return indices;
}

} // namespace tessera::frontend
