// The folding of the graph dialect's operations.
#include "compiler/graph/IR/GraphDialect.h"

namespace tessera::graph {

using namespace mlir;

namespace {

IndexExpr times(const IndexExpr &x, int64_t factor) {
  if (factor == 1) return x;
  int64_t product = 0;
  if (std::optional<int64_t> value = x.asConstant();
      value && !__builtin_mul_overflow(*value, factor, &product))
    return IndexExpr::constant(product);
  return IndexExpr::binary(IndexExpr::Code::Mul, x, IndexExpr::constant(factor));
}

IndexExpr plus(const IndexExpr &x, const IndexExpr &y) {
  const std::optional<int64_t> a = x.asConstant(), b = y.asConstant();
  int64_t sum = 0;
  if (a && b && !__builtin_add_overflow(*a, *b, &sum)) return IndexExpr::constant(sum);
  if (a == 0) return y;
  return b == 0 ? x : IndexExpr::binary(IndexExpr::Code::Add, x, y);
}

/// May the storage of tensors change between two operations of a block?
bool updatesBetween(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (isa<LaunchOp>(op)) return true;
  return false;
}

} // namespace

/// A slice of a slice is one of the whole tensor, and the first need not be stored:
///
///   %a = graph.slice %x starts ["K"] steps [2]        %a = graph.slice %x starts ["K"] steps [2]
///   %b = graph.slice %a starts ["1"] steps [3]   ->   %b = graph.slice %x starts ["K + 2"] steps [6]
OpFoldResult SliceOp::fold(FoldAdaptor) {
  auto outer = getInput().getDefiningOp<SliceOp>();
  if (!outer || outer->getBlock() != (*this)->getBlock() || updatesBetween(outer, *this)) return {};
  SmallVector<Attribute> starts;
  SmallVector<int64_t> steps;
  for (int64_t d = 0; d < getType().getRank(); ++d) {
    auto startOf = [&](SliceOp slice) { return cast<tile::IndexExprAttr>(slice.getStarts()[d]).getExpr(); };
    auto stepOf = [&](SliceOp slice) { return slice.getSteps() ? (*slice.getSteps())[d] : 1; };
    const IndexExpr start = plus(startOf(outer), times(startOf(*this), stepOf(outer)));
    if (start.checkText() || __builtin_mul_overflow(stepOf(outer), stepOf(*this), &steps.emplace_back()))
      return {};
    starts.push_back(tile::IndexExprAttr::get(getContext(), start));
  }
  getInputMutable().assign(outer.getInput());
  setStartsAttr(ArrayAttr::get(getContext(), starts));
  if (llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    removeStepsAttr();
  else
    setSteps(steps);
  return getResult();
}

} // namespace tessera::graph
