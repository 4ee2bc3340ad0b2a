// Elements of tensors and shared buffers whose indices are in tiles.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include <numeric>

using namespace mlir;

namespace tessera::target {

/// Of a line in memory, only elements that something observes have been computed. Returns the index at any
/// position: a tile of one long axis is computed there again.
Value TileLowering::indexAt(Value index, Indices at) {
  Vec<Value> place(at);
  Value line = index;
  while (auto reshape = line.getDefiningOp<tile::ReshapeOp>()) {
    auto isLong = [](int64_t extent) { return extent > 1; };
    auto from = tile::tileType(reshape.getInput()).getShape(), to = tile::tileType(line).getShape();
    if (llvm::count_if(from, isLong) != 1) break;
    Value position = place[llvm::find_if(to, isLong) - to.begin()];
    place = Vec<Value>(from.size(), constant(0));
    place[llvm::find_if(from, isLong) - from.begin()] = position;
    line = reshape.getInput();
  }
  Operation *op = line.getDefiningOp();
  const bool isComputed = op && tile::inMemory(line) && op->hasTrait<OpTrait::Elementwise>();
  return isComputed ? evaluateElementwise(op, place, 0, {false}) : evaluate(index, at, 0, {false});
}

/// A slice along the last axis makes a row: the tiles of indices choose its start. Along an axis of the tiles
/// of indices each lane has its own address, or, in a strided gather, the distance to the first one.
auto TileLowering::gathered(Value memory, ValueRange indices, ArrayRef<int64_t> extents, Indices at,
                            int64_t lanes, std::optional<tile::StridedDim> strided) -> Gathered {
  tile::GatherAxes axes = tile::gatherAxes(indices, extents);
  const View view = viewOf(memory);
  const bool isRow = axes.first + axes.indices.size() < axes.shape.size();
  const int64_t own = isRow ? 0 : lanes; // of a tile of indices
  Vec<Value> place(at.slice(axes.first, axes.indices.size()));
  Gathered result;
  Window w{view, {}, {}, {}, false, {}};
  Value first, offsets;
  auto addTo = [&](Value &sum, Value term) { sum = sum ? b_.createOrFold<arith::AddIOp>(sum, term) : term; };
  auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    Value holds = arith::CmpIOp::create(b_, predicate, x, y);
    bool isOfAll = !isa<VectorType>(holds.getType()) && !strided;
    result.mask = both(result.mask, isOfAll ? splat(holds, lanes) : holds);
  };
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value start;
    if (tile::isTile(index) && own && !strided) {
      start = evaluate(index, place, own, {false});
      require(arith::CmpIPredicate::ult, start, splat(toI64(view.sizes[dim]), lanes));
      addTo(offsets, arith::MulIOp::create(b_, start, splat(toI64(view.strides[dim]), lanes)));
      continue;
    }
    if (tile::isTile(index)) {
      Value element = strided ? indexAt(index, place) : evaluate(index, place, 0, {false});
      if (strided) {
        // The first and the last index show that all are inside and at this distance: they are exactly as far
        // apart as the distance asks unless the arithmetic of indices has wrapped.
        Vec<Value> end = place;
        end.back() = b_.createOrFold<arith::AddIOp>(end.back(), constant(lanes - 1));
        Value last = indexAt(index, end);
        Value apart = arith::CmpIOp::create(
            b_, arith::CmpIPredicate::eq, arith::SubIOp::create(b_, last, element),
            arith::ConstantOp::create(b_, b_.getI64IntegerAttr(strided->step * (lanes - 1))));
        result.isRegular = both(result.isRegular, apart);
        result.position = arith::IndexCastOp::create(b_, b_.getIndexType(), element);
        result.size = view.sizes[dim];
        result.mask = both(result.mask, apart);
        require(arith::CmpIPredicate::ult, last, toI64(view.sizes[dim]));
      }
      start = arith::IndexCastOp::create(b_, b_.getIndexType(), element);
    } else {
      start = scalar(index);
    }
    bool isLast = isRow && axes.ofDim[dim] == axes.shape.size() - 1;
    tile::IndexSign sign = isLast ? tile::signOf(index) : tile::IndexSign::Unknown;
    if (isLast) start = tile::saturatedIndex(b_, b_.getLoc(), start, sign);
    if (axes.ofDim[dim] && !isLast) start = b_.createOrFold<arith::AddIOp>(start, at[*axes.ofDim[dim]]);
    if (own) {
      require(arith::CmpIPredicate::ult, start, view.sizes[dim]);
      if (strided && !tile::isTile(index))
        result.isRegular = both(result.isRegular,
                                arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, start, view.sizes[dim]));
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
  result.addresses = base;
  if (!offsets) return result;
  auto pointers = VectorType::get({lanes}, base.getType());
  result.addresses =
      LLVM::GEPOp::create(b_, pointers, inMemoryElement(view.element), base, ArrayRef<LLVM::GEPArg>{offsets});
  result.base = base;
  result.offsets = offsets;
  return result;
}

/// Is the index along an axis of stride 1 computed from positions, as a border or a rotation computes it?
/// Then most vectors of it are of neighbours.
static bool isFromPositions(Value index) {
  llvm::SetVector<Value> tiles;
  tiles.insert(index);
  for (size_t i = 0; i < tiles.size(); ++i) {
    Operation *op = tiles[i].getDefiningOp();
    if (!op || op->getNumRegions() || isa<tile::LoadOp, tile::GatherOp>(op)) return false;
    for (Value operand : op->getOperands())
      if (tile::isTile(operand)) tiles.insert(operand);
  }
  return true;
}

/// Elements that turn out to be neighbours inside the tensor are one vector.
Value TileLowering::loadNeighbours(Type element, const Gathered &g, int64_t lanes) {
  Value first = lane(g.offsets, 0);
  Vec<int64_t> positions(lanes);
  std::iota(positions.begin(), positions.end(), 0);
  Value follows = arith::AddIOp::create(
      b_, splat(first, lanes),
      arith::ConstantOp::create(
          b_, DenseElementsAttr::get(cast<VectorType>(g.offsets.getType()), ArrayRef<int64_t>(positions))));
  Value agree = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, g.offsets, follows);
  Value all = vector::ReductionOp::create(b_, vector::CombiningKind::AND, both(agree, g.mask));
  Type type = VectorType::get({lanes}, element.isInteger(1) ? element : inMemoryElement(element));
  auto branch = scf::IfOp::create(b_, type, all, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  Value from = address(g.base, arith::IndexCastOp::create(b_, b_.getIndexType(), first), element);
  scf::YieldOp::create(b_, loadStrided(element, from, 1, lanes));
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b_, loadLanes(element, g.addresses, g.mask));
  return branch.getResult(0);
}

/// Part of a row that is chosen by an index: nearly all vectors of nearly all rows are inside the tensor.
Value TileLowering::loadRow(const Window &w, Indices at, int64_t lanes) {
  if (lanes <= 1 || !w.isContiguous() || isPacked(w.view.element)) return loadWindow(w, at, lanes, {false});
  Present part = presentPart(w);
  if (!isConstantIntValue(part.lower.back(), 0)) return loadWindow(w, at, lanes, {false});
  Value last = b_.createOrFold<arith::AddIOp>(at.back(), constant(lanes));
  Value isWhole =
      both(part.row, arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, last, part.upper.back()));
  auto branch = scf::IfOp::create(b_, vectorOf(w.view.element, lanes), isWhole, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(b_, loadWindow(w, at, lanes, {true}));
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b_, loadWindow(w, at, lanes, {false}));
  return branch.getResult(0);
}

/// Elements at a constant distance (x[::2], x[::-1]) are read by loads of whole vectors, which are masked
/// unless all elements are inside the tensor.
Value TileLowering::evaluateGather(tile::GatherOp op, Indices at, int64_t lanes) {
  auto gather = [&](std::optional<tile::StridedDim> strided = {}) {
    return gathered(op.getMemory(), op.getIndices(), op.getExtents(), at, lanes, strided);
  };
  const View view = viewOf(op.getMemory());
  auto strided = lanes > 1 ? tile::stridedDim(op) : std::nullopt;
  if (strided && isConstantIntValue(view.strides[strided->dim], 1)) {
    Gathered g = gather(strided);
    Type type = view.element.isInteger(1) ? view.element : inMemoryElement(view.element);
    auto branch = scf::IfOp::create(b_, VectorType::get({lanes}, type), g.mask, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(b_, loadStrided(view.element, g.addresses, strided->step, lanes));
    b_.setInsertionPointToStart(&branch.getElseRegion().front());
    auto loadEach = [&] {
      Gathered each = gather();
      return loadLanes(view.element, each.addresses, each.mask);
    };
    if (isPacked(view.element)) {
      scf::YieldOp::create(b_, loadEach());
      return branch.getResult(0);
    }
    auto inner = scf::IfOp::create(b_, branch.getResult(0).getType(), g.isRegular, true);
    scf::YieldOp::create(b_, inner.getResult(0));
    b_.setInsertionPointToStart(&inner.getThenRegion().front());
    scf::YieldOp::create(b_, loadStrided(view.element, g.addresses, strided->step, lanes,
                                         LinePart{g.position, g.size, view.data}));
    b_.setInsertionPointToStart(&inner.getElseRegion().front());
    scf::YieldOp::create(b_, loadEach());
    return branch.getResult(0);
  }
  Gathered g = gather();
  if (g.window && !g.at.empty()) return loadRow(*g.window, g.at, lanes);
  if (g.window) { // one element
    Value inside = inRange(g.window->view, g.window->starts);
    return load(view.element, elementAddress(g.window->view, g.window->starts), 0, inside);
  }
  auto isLine = [&](auto pair) {
    auto [dim, index] = pair;
    return tile::isTile(index) && isConstantIntValue(view.strides[dim], 1) && isFromPositions(index);
  };
  if (lanes > 1 && !isPacked(view.element) && llvm::any_of(llvm::enumerate(op.getIndices()), isLine))
    return loadNeighbours(view.element, g, lanes);
  return loadLanes(view.element, g.addresses, g.mask);
}

LogicalResult TileLowering::lowerScatter(tile::ScatterOp op) {
  auto shape = tile::tileType(op.getValue()).getShape();
  Type element = viewOf(op.getMemory()).element;
  Vec<Value> roots = {op.getValue()};
  if (op.getFlags()) roots.push_back(op.getFlags());
  nest(shape, lanesFor(roots), [&](Indices at, int64_t lanes) {
    Value v = evaluate(op.getValue(), at, lanes, {false});
    Value flags = op.getFlags() ? evaluate(op.getFlags(), at, lanes, {false}) : Value();
    Gathered g = gathered(op.getMemory(), op.getIndices(), op.getExtents(), at, lanes);
    if (g.window && !g.at.empty()) return storeWindow(*g.window, v, g.at, {false}, {}, {}, flags);
    if (!g.window) return storeLanes(element, v, g.addresses, both(g.mask, flags));
    Value inside = both(inRange(g.window->view, g.window->starts), flags);
    store(element, v, elementAddress(g.window->view, g.window->starts), inside);
  });
  return success();
}

} // namespace tessera::target
