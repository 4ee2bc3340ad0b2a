// Elements of global tensors whose indices are in tiles.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"

using namespace mlir;

namespace tessera::target {

/// A slice along the last axis makes a row: the tiles of indices choose its start. Along an axis of the tiles
/// of indices each lane has its own address.
auto TileLowering::gathered(Value of, ValueRange indices, ArrayRef<int64_t> extents, Indices at,
                            int64_t lanes) -> Gathered {
  tile::GatherAxes axes = tile::gatherAxes(indices, extents);
  const View &view = views_[of];
  const bool isRow = axes.first + axes.indices.size() < axes.shape.size();
  const int64_t own = isRow ? 0 : lanes; // of a tile of indices
  Indices place = at.slice(axes.first, axes.indices.size());
  Gathered result;
  Window w{view, {}, {}, {}, false, {}};
  Value mask, first, offsets;
  auto addTo = [&](Value &sum, Value term) { sum = sum ? b_.createOrFold<arith::AddIOp>(sum, term) : term; };
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value start;
    if (tile::isTile(index)) {
      start = evaluate(index, place, own, {false});
      if (own) {
        Value size = splat(toI64(view.sizes[dim]), lanes);
        mask = both(mask, arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, start, size));
        addTo(offsets, arith::MulIOp::create(b_, start, splat(toI64(view.strides[dim]), lanes)));
        continue;
      }
      start = arith::IndexCastOp::create(b_, b_.getIndexType(), start);
    } else {
      start = scalar(index);
    }
    bool isLast = isRow && axes.ofDim[dim] == axes.shape.size() - 1;
    tile::IndexSign sign = isLast ? tile::signOf(index) : tile::IndexSign::Unknown;
    if (isLast) start = tile::saturatedIndex(b_, b_.getLoc(), start, sign);
    if (axes.ofDim[dim] && !isLast) start = b_.createOrFold<arith::AddIOp>(start, at[*axes.ofDim[dim]]);
    if (own) {
      Value inside = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, start, view.sizes[dim]);
      mask = both(mask, splat(inside, lanes));
      addTo(first, b_.createOrFold<arith::MulIOp>(start, view.strides[dim]));
      continue;
    }
    w.starts.push_back(start);
    w.nonNegative.push_back(sign != tile::IndexSign::Unknown);
    w.extents.push_back(isLast ? extents[dim] : -1);
    if (isLast) w.dimOfAxis.push_back(dim);
  }
  if (!own) {
    result.window = std::move(w);
    if (isRow) result.at.push_back(at.back());
    return result;
  }
  Value base = first ? address(view.data, first, view.element) : view.data;
  auto pointers = VectorType::get({lanes}, base.getType());
  result.addresses =
      LLVM::GEPOp::create(b_, pointers, inMemoryElement(view.element), base, ArrayRef<LLVM::GEPArg>{offsets});
  result.mask = mask;
  return result;
}

/// Elements at a constant distance (x[::2], x[::-1]) are read by loads of whole vectors if all of them are
/// inside the tensor. The first and the last index show that: they are exactly as far apart as the distance
/// asks unless the arithmetic of indices has wrapped.
Value TileLowering::evaluateStridedGather(tile::GatherOp op, size_t dim, int64_t step, Indices at,
                                          int64_t lanes) {
  const View &view = views_[op.getView()];
  Type element = view.element;
  tile::GatherAxes axes = tile::gatherAxes(op.getIndices(), op.getExtents());
  Vec<Value> place(at.slice(axes.first, axes.indices.size()));
  Value index = op.getIndices()[dim];
  Value first = evaluate(index, place, 0, {false});
  place.back() = b_.createOrFold<arith::AddIOp>(place.back(), constant(lanes - 1));
  Value last = evaluate(index, place, 0, {false});
  Value distance = arith::ConstantOp::create(b_, b_.getI64IntegerAttr(step * (lanes - 1)));
  Value condition =
      arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, arith::SubIOp::create(b_, last, first), distance);
  for (Value end : {first, last})
    condition =
        both(condition, arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, end, toI64(view.sizes[dim])));
  Value linear = arith::IndexCastOp::create(b_, b_.getIndexType(), first); // of stride 1
  for (auto [d, other] : llvm::enumerate(op.getIndices())) {
    if (d == dim) continue;
    Value start = scalar(other);
    if (axes.ofDim[d]) start = b_.createOrFold<arith::AddIOp>(start, at[*axes.ofDim[d]]);
    condition = both(condition, arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, start, view.sizes[d]));
    linear = b_.createOrFold<arith::AddIOp>(linear, b_.createOrFold<arith::MulIOp>(start, view.strides[d]));
  }
  Type type = VectorType::get({lanes}, element.isInteger(1) ? element : inMemoryElement(element));
  auto branch = scf::IfOp::create(b_, type, condition, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  Value near = loadStrided(element, address(view.data, linear, view.element), step, lanes);
  scf::YieldOp::create(b_, near);
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  Gathered g = gathered(op.getView(), op.getIndices(), op.getExtents(), at, lanes);
  scf::YieldOp::create(b_, loadLanes(element, g.addresses, g.mask));
  return branch.getResult(0);
}

Value TileLowering::evaluateGather(tile::GatherOp op, Indices at, int64_t lanes) {
  if (lanes > 1)
    if (auto strided = tile::stridedDim(op);
        strided && isConstantIntValue(views_[op.getView()].strides[strided->dim], 1))
      return evaluateStridedGather(op, strided->dim, strided->step, at, lanes);
  Gathered g = gathered(op.getView(), op.getIndices(), op.getExtents(), at, lanes);
  Type element = op.getView().getType().getElementType();
  if (g.window && !g.at.empty()) return loadWindow(*g.window, g.at, lanes, {false});
  if (g.window) { // one element
    Value inside = inRange(g.window->view, g.window->starts);
    return load(element, elementAddress(g.window->view, g.window->starts), 0, inside);
  }
  return loadLanes(element, g.addresses, g.mask);
}

LogicalResult TileLowering::lowerScatter(tile::ScatterOp op) {
  auto shape = tile::tileType(op.getValue()).getShape();
  Type element = op.getView().getType().getElementType();
  Vec<Value> roots = {op.getValue()};
  if (op.getFlags()) roots.push_back(op.getFlags());
  nest(shape, lanesFor(roots), [&](Indices at, int64_t lanes) {
    Value v = evaluate(op.getValue(), at, lanes, {false});
    Value flags = op.getFlags() ? evaluate(op.getFlags(), at, lanes, {false}) : Value();
    Gathered g = gathered(op.getView(), op.getIndices(), op.getExtents(), at, lanes);
    if (g.window && !g.at.empty()) return storeWindow(*g.window, v, g.at, {false}, {}, {}, flags);
    if (!g.window) return storeLanes(element, v, g.addresses, both(g.mask, flags));
    Value inside = both(inRange(g.window->view, g.window->starts), flags);
    store(element, v, elementAddress(g.window->view, g.window->starts), inside);
  });
  return success();
}

} // namespace tessera::target
