// Boxes of tiles that are read: the part of a window that is inside its tensor, and the part of a shared
// buffer that a copy filled.
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/Transforms/BoundsLegalizer.h"
#include "compiler/tile/Transforms/KnownExtents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// Is it the index of an axis of programs with as many programs as the dim has elements? Such an index, of a
/// batch, is never out of range. Both factors of a product then end at the same depth.
bool isProgramOf(Value start, Value view, size_t dim) {
  auto id = start.getDefiningOp<ProgramIdOp>();
  auto arg = dyn_cast<BlockArgument>(view);
  if (!id || !arg) return false;
  auto kernel = cast<KernelOp>(arg.getOwner()->getParentOp());
  ArrayAttr dims = kernel.getParam(arg).getDims();
  return dims &&
         cast<IndexExprAttr>(kernel.getGrid()[id.getAxis()]).text() == cast<StringAttr>(dims[dim]).getValue();
}

/// `isInside` answers whether an index, or the part of a slice from it on, is known to be in range. `filled`,
/// if given, is the box of the memory along each dim. `only` is the axis that is needed. If an integer index
/// is out of range, the first axis is empty.
Box windowBox(OpBuilder &b, Location loc, ArrayRef<Value> sizes, ValueRange starts, ArrayRef<int64_t> extents,
              llvm::function_ref<bool(Value, size_t)> isInside, const Box *filled = nullptr,
              std::optional<unsigned> only = {}) {
  Box r;
  Value zero = indexConstant(b, loc, 0), allowed;
  auto require = [&](arith::CmpIPredicate p, Value x, Value y) {
    Value holds = b.createOrFold<arith::CmpIOp>(loc, p, x, y);
    if (matchPattern(holds, m_One())) return; // a column of a tensor that is known to have it
    allowed = allowed ? arith::AndIOp::create(b, loc, allowed, holds).getResult() : holds;
  };
  for (auto [dim, pair] : llvm::enumerate(llvm::zip(starts, extents))) {
    auto [start, extent] = pair;
    std::optional<Interval> memory = filled ? (*filled)[dim] : std::nullopt;
    if (extent < 0) {
      if (only.value_or(0) != 0) continue;
      if (!isInside(start, dim)) require(arith::CmpIPredicate::ult, start, sizes[dim]);
      if (memory) require(arith::CmpIPredicate::sge, start, memory->lo);
      if (memory) require(arith::CmpIPredicate::slt, start, memory->hi);
      continue;
    }
    if (only && *only != r.size()) {
      r.push_back(std::nullopt);
      continue;
    }
    if (!memory && isInside(start, dim)) {
      r.push_back(std::nullopt);
      continue;
    }
    IndexSign sign = signOf(start);
    Value from = saturatedIndex(b, loc, start, sign);
    Interval axis =
        presentInterval(b, loc, from, extent, memory ? memory->hi : sizes[dim], sign != IndexSign::Unknown);
    if (memory) {
      from = b.createOrFold<arith::MaxSIOp>(loc, from, indexConstant(b, loc, -extent));
      axis.lo =
          b.createOrFold<arith::MaxSIOp>(loc, axis.lo, b.createOrFold<arith::SubIOp>(loc, memory->lo, from));
    }
    r.push_back(axis);
  }
  if (!allowed || r.empty()) return r;
  if (!r[0]) {
    const int64_t length = *llvm::find_if(extents, [](int64_t extent) { return extent >= 0; });
    r[0] = Interval{zero, indexConstant(b, loc, length)};
  }
  r[0]->hi = arith::SelectOp::create(b, loc, allowed, r[0]->hi, zero);
  return r;
}

/// In bounds: 0 <= start + k < dim. If an integer index is out of range, nothing is in bounds.
Box windowBox(OpBuilder &b, Location loc, Value view, ValueRange starts, ArrayRef<int64_t> extents,
              std::optional<unsigned> only = {}) {
  SmallVector<Value> sizes;
  for (size_t dim = 0; dim < starts.size(); ++dim)
    sizes.push_back(b.createOrFold<DimOp>(loc, b.getIndexType(), view, dim));
  return windowBox(
      b, loc, sizes, starts, extents,
      [&](Value start, size_t dim) {
        return extents[dim] < 0 ? isProgramOf(start, view, dim)
                                : isKnownInside(view, static_cast<unsigned>(dim), start, extents[dim]);
      },
      nullptr, only);
}

bool writes(Operation *op, Value buffer) {
  return op
      ->walk([&](Operation *inner) {
        auto copy = dyn_cast<CpAsyncOp>(inner);
        auto write = dyn_cast<BufferWriteOp>(inner);
        auto scatter = dyn_cast<ScatterOp>(inner);
        return (copy && copy.getBuffer() == buffer) || (write && write.getBuffer() == buffer) ||
                       (scatter && scatter.getMemory() == buffer)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

Box loadBox(OpBuilder &b, LoadOp load, std::optional<unsigned> only) {
  if (load.getInBounds()) return Box(tileType(load.getResult()).getRank());
  return windowBox(b, load.getLoc(), load.getView(), load.getStarts(), load.getExtents(), only);
}

namespace {

/// Returns the flags of a tile of indices as flags of the tile that they access.
Value spreadIndexFlags(OpBuilder &b, Location loc, Value flags, const GatherAxes &axes) {
  size_t last = axes.first + axes.indices.size();
  SmallVector<int64_t> shape(axes.indices);
  auto expand = [&](size_t axis) {
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
    flags = ExpandDimsOp::create(b, loc, RankedTensorType::get(shape, b.getI1Type()), flags, axis);
  };
  for (size_t axis = 0; axis < axes.first; ++axis)
    expand(axis);
  for (size_t axis = last; axis < axes.shape.size(); ++axis)
    expand(axis);
  if (shape == axes.shape) return flags;
  return BroadcastOp::create(b, loc, RankedTensorType::get(axes.shape, b.getI1Type()), flags);
}

} // namespace

Bounds gatherBounds(OpBuilder &b, GatherOp op, BoundsOf of, std::optional<unsigned> only) {
  Location loc = op.getLoc();
  GatherAxes axes = gatherAxes(op.getIndices(), op.getExtents());
  auto flagType = RankedTensorType::get(axes.indices, b.getI1Type());
  Value inside;
  auto require = [&](Value condition) {
    inside = inside ? arith::AndIOp::create(b, loc, inside, condition).getResult() : condition;
  };
  // Of a shared buffer the part that the last copy filled.
  auto buffer = dyn_cast<BufferType>(op.getMemory().getType());
  const Box filled = buffer ? copiedBox(b, op.getMemory(), op) : Box(op.getIndices().size());
  Box memory;
  SmallVector<Value> sizes, starts;
  SmallVector<int64_t> extents;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value size = buffer ? indexConstant(b, loc, buffer.getShape()[dim])
                        : b.createOrFold<DimOp>(loc, b.getIndexType(), op.getMemory(), dim);
    Value first = filled[dim] ? filled[dim]->lo : Value(), end = filled[dim] ? filled[dim]->hi : size;
    if (op.getExtents()[dim] >= 0) {
      sizes.push_back(size);
      starts.push_back(index);
      extents.push_back(op.getExtents()[dim]);
      memory.push_back(filled[dim]);
      continue;
    }
    if (!isTile(index) && !buffer && isProgramOf(index, op.getMemory(), dim)) continue;
    auto compare = [&](arith::CmpIPredicate predicate, Value limit) {
      if (isTile(index)) {
        Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), limit);
        limit = BroadcastOp::create(b, loc, index.getType(), wide);
      }
      Value holds = arith::CmpIOp::create(b, loc, predicate, index, limit);
      require(isTile(index) ? holds : BroadcastOp::create(b, loc, flagType, holds).getResult());
    };
    compare(arith::CmpIPredicate::ult, end);
    if (first && !isConstantIntValue(first, 0)) compare(arith::CmpIPredicate::sge, first);
  }
  Bounds all = Bounds::whole(static_cast<int64_t>(axes.indices.size()));
  all.flags = inside;
  for (Value index : op.getIndices())
    if (isTile(index)) all = intersect(b, loc, all, of(index));
  Bounds r = Bounds::whole(static_cast<int64_t>(axes.shape.size()));
  r.flags = spreadIndexFlags(b, loc, all.flags, axes);
  llvm::copy(all.box, r.box.begin() + static_cast<ptrdiff_t>(axes.first));
  Box slices = windowBox(
      b, loc, sizes, starts, extents, [](Value, size_t) { return false; }, buffer ? &memory : nullptr, only);
  for (auto [axis, interval] : llvm::enumerate(slices))
    r.box[axis < axes.first ? axis : axis + axes.indices.size()] = interval;
  return r;
}

CpAsyncOp reachingCopy(Value buffer, Operation *reader) {
  for (Operation *at = reader; !isa<KernelOp>(at); at = at->getParentOp()) {
    if (at != reader && isa<LoopLikeOpInterface>(at) && writes(at, buffer)) return {};
    for (Operation *op = at->getPrevNode(); op; op = op->getPrevNode()) {
      if (auto copy = dyn_cast<CpAsyncOp>(op); copy && copy.getBuffer() == buffer) return copy;
      if (writes(op, buffer)) return {};
    }
  }
  return {};
}

Box copyBox(OpBuilder &b, CpAsyncOp copy, std::optional<unsigned> only) {
  return windowBox(b, copy.getLoc(), copy.getView(), copy.getStarts(), copy.getExtents(), only);
}

Box copiedBox(OpBuilder &b, Value buffer, Operation *reader) {
  CpAsyncOp copy = reachingCopy(buffer, reader);
  if (!copy) return Box(static_cast<size_t>(cast<BufferType>(buffer.getType()).getRank()));
  b.setInsertionPoint(reader);
  return copyBox(b, copy);
}

Box bufferBox(OpBuilder &b, BufferReadOp read) {
  Box whole = copiedBox(b, read.getBuffer(), read);
  if (read.getStarts().empty()) return whole;
  b.setInsertionPoint(read);
  SmallVector<Value> sizes;
  for (int64_t extent : cast<BufferType>(read.getBuffer().getType()).getShape())
    sizes.push_back(indexConstant(b, read.getLoc(), extent));
  Box part = windowBox(
      b, read.getLoc(), sizes, read.getStarts(), *read.getExtents(), [](Value, size_t) { return false; },
      &whole);
  for (auto [axis, extent] : llvm::zip(part, tileType(read.getResult()).getShape()))
    if (isConstantIntValue(axis->lo, 0) && isConstantIntValue(axis->hi, extent)) axis = std::nullopt;
  return part;
}

} // namespace tessera::tile
