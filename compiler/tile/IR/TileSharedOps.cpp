// Verification of the operations on shared memory.
#include "compiler/layout/BoxStore.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/IR/TileDialect.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

LogicalResult AllocSharedOp::verify() {
  if (!llvm::isPowerOf2_64(getAlign()))
    return emitOpError() << "align " << getAlign() << " is no power of two";
  if (getOffset() && (*getOffset() < 0 || *getOffset() % getAlign() != 0))
    return emitOpError() << "offset " << *getOffset() << " is not a multiple of align " << getAlign();
  return success();
}

LogicalResult SlotOp::verify() {
  BufferType ring = getRing().getType(), slot = getResult().getType();
  if (!getRing().getDefiningOp<AllocSharedOp>()) return emitOpError() << "is of no tile.alloc_shared";
  if (ring.getRank() > 1 && ring.getShape().drop_front() == slot.getShape() &&
      ring.getElementType() == slot.getElementType() && ring.getSwizzle() == slot.getSwizzle())
    return success();
  return emitOpError() << slot << " is no buffer of the ring " << ring;
}

/// An access without extents covers the whole buffer and needs its shape.
static LogicalResult verifyBufferAccess(Operation *op, BufferType buffer, size_t starts,
                                        std::optional<ArrayRef<int64_t>> extents, Type type) {
  if (extents) return verifyTileAccess(op, buffer.getRank(), buffer.getElementType(), starts, *extents, type);
  if (starts != 0) return op->emitOpError() << "has starts but no extents";
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getShape() != buffer.getShape() ||
      tensor.getElementType() != loadedElementType(buffer.getElementType()))
    return op->emitOpError() << "the whole of " << buffer << " is not " << tensor;
  return success();
}

LogicalResult BufferReadOp::verify() {
  return verifyBufferAccess(*this, getBuffer().getType(), getStarts().size(), getExtents(),
                            getResult().getType());
}

LogicalResult BufferWriteOp::verify() {
  return verifyBufferAccess(*this, getBuffer().getType(), getStarts().size(), getExtents(),
                            getValue().getType());
}

template <typename Copy> static LogicalResult verifyCopy(Copy op) {
  ViewType view = op.getView().getType();
  BufferType buffer = op.getBuffer().getType();
  if (failed(verifyAccess(op, view.getRank(), op.getStarts().size(), op.getExtents()))) return failure();
  if (ArrayRef<int64_t>(tileShape(op.getExtents())) != buffer.getShape())
    return op.emitOpError() << "extents [" << op.getExtents() << "] do not give the shape of " << buffer;
  if (view.getElementType() != buffer.getElementType())
    return op.emitOpError() << "copies between " << view << " and " << buffer << ": element types differ";
  return success();
}

LogicalResult CpAsyncOp::verify() { return verifyCopy(*this); }

static LogicalResult verifyArrivals(Operation *op, Value arrivals) {
  auto type = cast<BufferType>(arrivals.getType());
  if (arrivals.getDefiningOp<AllocSharedOp>() && type.getRank() == 1 && type.getElementType().isInteger(64))
    return success();
  return op->emitOpError() << "counts arrivals in " << type
                           << ", which is no tile.alloc_shared of a row of i64";
}

LogicalResult InitArrivalsOp::verify() {
  if (getArrivals().empty() || getCounts().size() != getArrivals().size() ||
      llvm::any_of(getCounts(), [](int64_t count) { return count < 1; }))
    return emitOpError() << "has no positive count for each of its " << getArrivals().size() << " buffers";
  for (Value arrivals : getArrivals())
    if (failed(verifyArrivals(*this, arrivals))) return failure();
  return success();
}
/// Checks that the kernel has a cluster if the operation is for all of its programs.
static LogicalResult verifyInCluster(Operation *op, bool isForAll) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!isForAll || !kernel || kernel.getCluster()) return success();
  return op->emitOpError() << "is for all programs of a cluster; the kernel has none";
}
LogicalResult ArriveOp::verify() {
  if (failed(verifyInCluster(*this, getInCluster()))) return failure();
  return verifyArrivals(*this, getArrivals());
}
LogicalResult RolesOp::verify() {
  if (!isa_and_nonnull<ReturnOp>((*this)->getNextNode()))
    return emitOpError() << "is not the last operation of its kernel";
  for (Region *region : {&getCopy(), &getMultiply()}) {
    const WalkResult meets = region->walk([](Operation *op) {
      return isa<BarrierOp, WaitGroupOp, ArriveOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (meets.wasInterrupted())
      return emitOpError() << "waits for other threads where one thread copies or starts products";
  }
  if ((getMultiplyWarps() > 0) == getMultiply().empty())
    return emitOpError() << "has " << getMultiplyWarps() << " warps that start products and "
                         << (getMultiply().empty() ? "no part" : "a part") << " for them";
  // In the order of the text, which is that of execution: a loop begins and ends with the turn, or without.
  Operation *turn = nullptr, *wrong = nullptr;
  getMath().walk([&](Operation *op) {
    if (isa<AwaitTurnOp>(op) ? turn != nullptr : isa<PassTurnOp>(op) && !turn) wrong = op;
    if (isa<BarrierOp>(op) && turn) wrong = op;
    if (isa<AwaitTurnOp>(op)) turn = op;
    if (isa<PassTurnOp>(op)) turn = nullptr;
    return wrong ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (wrong && isa<BarrierOp>(wrong))
    return wrong->emitOpError() << "is met in a turn, for whose end other threads wait before they reach it";
  if (wrong || turn)
    return (wrong ? wrong : turn)->emitOpError()
           << "has no counterpart: turns are awaited and passed alternately";
  return success();
}
/// Checks that the operation is in the part of tile.roles that computes.
static LogicalResult verifyTurn(Operation *op) {
  auto roles = op->getParentOfType<RolesOp>();
  if (roles && roles.getMath().isAncestor(op->getParentRegion())) return success();
  return op->emitOpError() << "is not in the part of tile.roles that computes";
}
LogicalResult CommitProductsOp::verify() {
  auto roles = (*this)->getParentOfType<RolesOp>();
  if (!roles || !roles.getMultiply().isAncestor((*this)->getParentRegion()))
    return emitOpError() << "is not in the part of tile.roles that starts products";
  return verifyArrivals(*this, getArrivals());
}
LogicalResult TakeSumsOp::verify() {
  auto roles = (*this)->getParentOfType<RolesOp>();
  if (!roles || roles.getMultiply().empty() || !roles.getMath().isAncestor((*this)->getParentRegion()))
    return emitOpError() << "is not in the part of tile.roles that computes, beside one that starts products";
  return success();
}
LogicalResult AwaitTurnOp::verify() { return verifyTurn(*this); }
LogicalResult PassTurnOp::verify() { return verifyTurn(*this); }
LogicalResult ExpectBytesOp::verify() { return verifyArrivals(*this, getArrivals()); }
LogicalResult AwaitBytesOp::verify() { return verifyArrivals(*this, getArrivals()); }
LogicalResult CopyBoxOp::verify() {
  if (failed(verifyArrivals(*this, getArrivals())) || failed(verifyInCluster(*this, getMulticast())))
    return failure();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getMulticast() && kernel) {
    constexpr int64_t kRows = 8; // after which a swizzle repeats
    const int64_t rows = getBuffer().getType().getShape().front(), parts = kernel.programsOfCluster();
    if (rows % (parts * kRows))
      return emitOpError() << "cuts " << rows << " rows into " << parts << " parts, not of a multiple of "
                           << kRows << " rows";
  }
  return verifyCopy(*this);
}

LogicalResult StoreBoxOp::verify() {
  ViewType view = getView().getType();
  auto tile = cast<RankedTensorType>(getValue().getType());
  if (failed(verifyTileAccess(*this, view.getRank(), view.getElementType(), getStarts().size(), getExtents(),
                              tile)))
    return failure();
  auto layout = dyn_cast_or_null<LayoutAttr>(tile.getEncoding());
  const auto plan = layout
                        ? layout::boxStore(layout.getValue(), unsigned(storageBytes(view.getElementType())))
                        : std::nullopt;
  if (!plan) return emitOpError() << "stores " << tile << ", whose warps have no boxes of rows";
  BufferType buffer = getBuffer().getType();
  const int64_t rows = layout.getValue().warps() * plan->rows;
  if (buffer.getRank() != 3 || buffer.getShape().drop_front() != ArrayRef<int64_t>{rows, plan->columns} ||
      buffer.getElementType() != view.getElementType())
    return emitOpError() << "stores through " << buffer << "; its warps need a number of " << rows << "x"
                         << plan->columns << " elements of " << view.getElementType();
  return success();
}

LogicalResult FenceOp::verify() {
  if (getOrder() == MemoryOrder::Relaxed) return emitOpError() << "a relaxed fence orders nothing";
  return success();
}
