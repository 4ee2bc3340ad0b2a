// Operations that move data by position, and groups that do: gather, pad, concat, scan.
#include "compiler/schedule/Transforms/GroupProgram.h"

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;
using graph::ReduceKind;
using graph::ScanKind;

namespace {

/// How a tile is scanned, with which neutral element, and how two parts are joined.
struct ScanStep {
  tile::ScanKind scan;
  ReduceKind reduction;
  BinaryKind join;
};

ScanStep stepOf(ScanKind kind) {
  switch (kind) {
  case ScanKind::Sum:
    return {tile::ScanKind::Sum, ReduceKind::Sum, BinaryKind::Add};
  case ScanKind::Max:
    return {tile::ScanKind::Max, ReduceKind::Max, BinaryKind::Maximum};
  case ScanKind::Prod:
    return {tile::ScanKind::Prod, ReduceKind::Prod, BinaryKind::Mul};
  case ScanKind::Min:
    return {tile::ScanKind::Min, ReduceKind::Min, BinaryKind::Minimum};
  }
  llvm_unreachable("every kind is listed");
}

} // namespace

/// Indices and positions that vary within the program's tile are tiles of one shape. Axes of the tensor along
/// which no index varies are read as slices.
TypedValue GroupProgram::readAt(const TypedValue &view, ArrayRef<Position> positions) {
  Shape whole(tileRank(), 1); // of the tiles of indices, in the axes of the program's tile
  for (const Position &p : positions)
    if (p.index)
      for (auto [extent, own] : llvm::zip_equal(whole, p.index->shape()))
        extent = std::max(extent, own);
  SmallVector<size_t> varying; // axes of the program's tile that the tiles of indices have
  Shape shape;
  for (auto [axis, extent] : llvm::enumerate(whole))
    if (extent > 1) {
      varying.push_back(axis);
      shape.push_back(extent);
    }
  if (shape.empty()) shape.push_back(1);
  auto inTile = [&](int64_t axis) { return axis == columns_ ? tileRank() - 1 : 0; };

  GroupBuilder::Starts starts;
  std::vector<int64_t> extents;
  SmallVector<size_t> order; // the axes of what is loaded, as axes of the program's tile
  bool hasTile = false;
  auto useTile = [&](const TypedValue &index) {
    if (!hasTile) llvm::append_range(order, varying);
    hasTile = true;
    starts.push_back(b_.reshape(b_.broadcast(index, whole), shape));
    extents.push_back(-1);
  };
  for (const Position &p : positions) {
    if (p.index) {
      useTile(*p.index);
      continue;
    }
    const bool isFixed = p.axis == GroupSpace::kFixed, spans = !isFixed && isTileAxis(p.axis);
    TypedValue at = isFixed ? b_.integer(0) : start(p.axis);
    if (p.offset) at = isFixed ? *p.offset : b_.add(at, *p.offset);
    if (spans && whole[inTile(p.axis)] > 1) {
      useTile(linePosition(p.axis, p.offset));
      continue;
    }
    if (spans) order.push_back(inTile(p.axis));
    starts.push_back(at);
    extents.push_back(spans ? tileExtent(p.axis) : -1);
  }
  TypedValue x = b_.load(view, starts, extents);
  if (!x.isTile()) return b_.broadcast(x, Shape(tileRank(), 1));
  // The axes in the program's order; those that nothing varies along have extent 1.
  Shape loaded, result(tileRank(), 1);
  for (size_t axis : order) {
    loaded.push_back(tileExtent(axis + 1 == tileRank() ? columns_ : rows_));
    result[axis] = loaded.back();
  }
  if (order.size() == 2 && order[0] > order[1]) x = b_.transpose(b_.reshape(x, loaded));
  return b_.reshape(x, result);
}

/// Returns the positions of the tile along one of its axes, plus an offset, as i64.
TypedValue GroupProgram::linePosition(int64_t axis, const std::optional<TypedValue> &offset) {
  TypedValue line = b_.cast(b_.arange(start(axis), tileExtent(axis)), DType::I64);
  if (offset) line = b_.add(line, b_.broadcast(*offset, line.shape()));
  return tileRank() == 1 ? line : b_.expandDims(line, axis == rows_ ? 1 : 0);
}

TypedValue GroupProgram::gather(graph::GatherOp op) {
  SmallVector<Position> positions(op.getAlong().size());
  auto indices = op.getIndicesMutable().begin();
  for (auto [p, axis] : llvm::zip_equal(positions, op.getAlong()))
    if (axis < 0)
      p.index = b_.cast(value(*indices++), DType::I64);
    else
      p.axis = axis;
  TypedValue x = readAt(params_[op.getTable()], positions);
  return b_.fillMasked(x, b_.full(0, x.dtype, {}));
}

TypedValue GroupProgram::strided(graph::SliceOp op) {
  SmallVector<Position> positions;
  for (auto [axis, step, first] :
       llvm::zip_equal(space_.axesOf(op->getOpOperand(0)), *op.getSteps(), op.getStarts())) {
    Position p{std::nullopt, axis, expression(cast<tile::IndexExprAttr>(first))};
    auto times = [&](const TypedValue &x) { return b_.mul(x, b_.broadcast(b_.integer(step), x.shape())); };
    if (step == 0) {
      p.axis = GroupSpace::kFixed;
    } else if (axis != GroupSpace::kFixed && step != 1) {
      if (isTileAxis(axis) && tileExtent(axis) > 1) {
        TypedValue line = times(linePosition(axis, std::nullopt));
        p.index = b_.add(line, b_.broadcast(*p.offset, line.shape()));
      } else {
        p = {std::nullopt, GroupSpace::kFixed, b_.add(b_.mul(start(axis), b_.integer(step)), *p.offset)};
      }
    }
    positions.push_back(p);
  }
  TypedValue x = readAt(params_[op.getInput()], positions);
  if (llvm::none_of(positions, [](const Position &p) { return p.index.has_value(); })) return x;
  // A slice is inside its tensor, so that what is outside is also outside the result, whose end masks it.
  // Flags of each index would mask every store as well (docs/decisions/0188).
  return b_.fillMasked(x, b_.full(0, x.dtype, {}));
}

/// The part of the tile that is outside the tensor has the value.
TypedValue GroupProgram::pad(graph::PadOp op) {
  OpOperand &input = op->getOpOperand(0);
  TypedValue x = loadTile(params_[input.get()], op.getInput().getType(), space_.axesOf(input), op.getLow(),
                          /*beginsAfter=*/true);
  TypedValue fill = value(op->getOpOperand(1));
  return b_.fillMasked(x, fill);
}

/// A tile of the result gets a part of each tensor that overlaps it: the positions of a tensor are those of
/// the result less the extents of the tensors before it.
void GroupProgram::buildConcat() {
  auto op = *group_.getBody().front().getOps<graph::ConcatOp>().begin();
  b_.at(op.getLoc());
  const auto joined = static_cast<int64_t>(op.getAxis());
  const int64_t rank = space_.space().getRank();
  auto part = [&](OpOperand &operand) {
    auto slice = operand.get().getDefiningOp<graph::SliceOp>();
    return slice ? compute(slice) : load(operand);
  };
  if (space_.interleaves()) {
    GroupBuilder::Values tiles;
    for (OpOperand &operand : op->getOpOperands())
      tiles.push_back(b_.expandDims(b_.broadcast(value(operand), {tileExtent(columns_)}), 1));
    GroupBuilder::Starts starts;
    std::vector<int64_t> extents;
    for (int64_t axis = 0; axis < rank; ++axis) {
      starts.push_back(axis == joined ? b_.integer(0) : start(axis));
      extents.push_back(axis == joined     ? static_cast<int64_t>(tiles.size())
                        : isTileAxis(axis) ? tileExtent(axis)
                                           : -1);
    }
    return b_.store(b_.concat(tiles, 1), results_[0], starts, extents);
  }
  Shape whole(tileRank(), 1);
  whole.back() = tileExtent(columns_);
  if (tileRank() == 2) whole.front() = tileExtent(rows_);
  std::vector<int64_t> extents;
  for (int64_t axis = 0; axis < rank; ++axis)
    extents.push_back(isTileAxis(axis) ? tileExtent(axis) : -1);
  GroupBuilder::Values others; // the ends along the other axes
  for (int64_t axis : {rows_, columns_})
    if (axis != GroupSpace::kFixed) {
      TypedValue rest = b_.sub(extent(space_.space().getDims()[axis]), start(axis));
      others.push_back(b_.binary(BinaryKind::Minimum, rest, b_.integer(tileExtent(axis))));
    }
  const int64_t length = tileExtent(joined);
  const TypedValue first = start(joined);
  auto inTile = [&](int64_t axis) { return axis == columns_ ? static_cast<int64_t>(tileRank()) - 1 : 0; };
  TypedValue offset = b_.integer(0);
  for (OpOperand &operand : op->getOpOperands()) {
    TypedValue size = extent(cast<Tensor>(operand.get().getType()).getDims()[joined]);
    TypedValue from = b_.sub(first, offset); // in this tensor
    TypedValue lower = b_.binary(BinaryKind::Maximum, from, b_.integer(0));
    TypedValue upper = b_.binary(BinaryKind::Minimum, b_.add(from, b_.integer(length)), size);
    TypedValue left = b_.sub(upper, lower), shift = b_.add(lower, offset);
    GroupBuilder::Values ends;
    if (isTileAxis(joined))
      for (size_t axis = 0; axis < tileRank(); ++axis)
        ends.push_back(inTile(joined) == static_cast<int64_t>(axis) ? left : others[axis]);
    // The loop has one iteration, or none.
    b_.loop(left, length, {}, 0, [&](const TypedValue &k, const GroupBuilder::Values &none) {
      starts_[joined] = b_.add(k, lower);
      TypedValue tile = b_.broadcast(part(operand), whole);
      starts_[joined] = b_.add(k, shift);
      GroupBuilder::Starts starts;
      for (int64_t axis = 0; axis < rank; ++axis)
        starts.push_back(start(axis));
      b_.store(tile, results_[0], starts, extents, ends);
      return none;
    });
    starts_[joined] = first;
    offset = b_.add(offset, size);
  }
}

/// One walk along the axis, or a part of it: each tile is scanned by itself and joined with the last elements
/// before it.
void GroupProgram::buildScan() {
  graph::ScanOp op;
  for (Operation &candidate : group_.getBody().front())
    if (auto scan = dyn_cast<graph::ScanOp>(candidate)) op = scan;
  int64_t axis = *space_.reducedAxis();
  int64_t along = axis == rows_ ? 0 : static_cast<int64_t>(tileRank()) - 1; // in the tile
  Shape whole(tileRank(), 1);
  whole.back() = tileExtent(columns_);
  if (tileRank() == 2) whole.front() = tileExtent(rows_);
  Shape line = whole;
  line[along] = 1;
  DType dtype = dtypeOf(op.getType());
  auto [kind, reduction, join] = stepOf(op.getKind());
  TypedValue begin = neutral(reduction, dtype, line);
  if (op.getAfter()) {
    TypedValue isFirst = b_.binary(BinaryKind::Eq, *part_, b_.integer(0));
    begin = b_.select(b_.broadcast(isFirst, line), begin, b_.broadcast(load(op->getOpOperand(1)), line));
  }
  walk({begin}, [&](const GroupBuilder::Values &before) -> GroupBuilder::Values {
    TypedValue x = b_.broadcast(value(op->getOpOperand(0)), whole);
    b_.at(op.getLoc());
    TypedValue own = b_.scan(kind, x, along);
    varyingValues_[op.getResult()] = b_.binary(join, b_.broadcast(before[0], whole), own);
    storeAll();
    return {b_.binary(join, before[0], b_.slice(own, along, whole[along] - 1, 1))};
  });
}

} // namespace tessera::schedule
