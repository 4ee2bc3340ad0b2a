// Verification of accesses to global tensors.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/IR/TileDialect.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

SmallVector<int64_t> tile::tileShape(ArrayRef<int64_t> extents) {
  SmallVector<int64_t> shape;
  llvm::copy_if(extents, std::back_inserter(shape), [](int64_t e) { return e != -1; });
  return shape;
}

LogicalResult tile::verifyAccess(Operation *op, int64_t rank, size_t starts, ArrayRef<int64_t> extents) {
  if (static_cast<int64_t>(starts) != rank)
    return op->emitOpError() << "has " << starts << " starts for " << rank << " dims";
  if (static_cast<int64_t>(extents.size()) != rank)
    return op->emitOpError() << "has " << extents.size() << " extents for " << rank << " dims";
  for (int64_t extent : extents)
    if (extent != -1 && extent <= 0)
      return op->emitOpError() << "extent " << extent << " is neither positive nor -1";
  if (tileShape(extents).empty())
    return op->emitOpError() << "every dim is an integer index: that is an element, not a tile";
  return success();
}

LogicalResult tile::verifyTileAccess(Operation *op, int64_t rank, Type memoryElement, size_t starts,
                                     ArrayRef<int64_t> extents, Type type) {
  if (failed(verifyAccess(op, rank, starts, extents))) return failure();
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getShape() != ArrayRef<int64_t>(tileShape(extents)))
    return op->emitOpError() << "extents [" << extents << "] do not give the shape of " << tensor;
  if (tensor.getElementType() != loadedElementType(memoryElement))
    return op->emitOpError() << "memory of " << memoryElement << " holds values of "
                             << loadedElementType(memoryElement) << ", not " << tensor.getElementType();
  return success();
}

Type tile::memoryElement(Type memory) {
  auto buffer = dyn_cast<BufferType>(memory);
  return buffer ? buffer.getElementType() : cast<ViewType>(memory).getElementType();
}

GatherAxes tile::gatherAxes(ValueRange indices, ArrayRef<int64_t> extents) {
  GatherAxes axes;
  bool isFound = false;
  for (auto [index, extent] : llvm::zip_equal(indices, extents)) {
    axes.ofDim.push_back(extent < 0 ? std::nullopt : std::optional(axes.shape.size()));
    if (extent >= 0) axes.shape.push_back(extent);
    auto tile = dyn_cast<RankedTensorType>(index.getType());
    if (!tile || isFound) continue;
    isFound = true;
    axes.first = axes.shape.size();
    llvm::append_range(axes.indices, tile.getShape());
    llvm::append_range(axes.shape, tile.getShape());
  }
  return axes;
}

static LogicalResult verifyGather(Operation *op, Type memory, ValueRange indices, ArrayRef<int64_t> extents,
                                  RankedTensorType tile) {
  auto buffer = dyn_cast<BufferType>(memory);
  auto rank = static_cast<size_t>(buffer ? buffer.getRank() : cast<ViewType>(memory).getRank());
  Type element = memoryElement(memory);
  if (indices.size() != rank || extents.size() != rank)
    return op->emitOpError() << "has " << indices.size() << " indices and " << extents.size()
                             << " extents for " << rank << " dims";
  RankedTensorType first;
  for (auto [index, extent] : llvm::zip_equal(indices, extents)) {
    auto type = dyn_cast<RankedTensorType>(index.getType());
    if (extent != -1 && (extent <= 0 || type))
      return op->emitOpError() << "extent " << extent << " is neither that of a slice nor -1";
    if (type && first && type != first)
      return op->emitOpError() << "has indices of the shapes " << first << " and " << type;
    if (type) first = type;
  }
  if (!first) return op->emitOpError() << "has no tile of indices";
  if (tile.getShape() != ArrayRef<int64_t>(gatherAxes(indices, extents).shape))
    return op->emitOpError() << "extents [" << extents << "] and indices " << first
                             << " do not give the shape of " << tile;
  if (tile.getElementType() != loadedElementType(element))
    return op->emitOpError() << "memory of " << element << " holds values of " << loadedElementType(element)
                             << ", not " << tile.getElementType();
  return success();
}

LogicalResult GatherOp::verify() {
  return verifyGather(*this, getMemory().getType(), getIndices(), getExtents(),
                      cast<RankedTensorType>(getResult().getType()));
}

/// Adds the effect on a tensor or on a shared buffer.
static void addEffect(SmallVectorImpl<MemoryEffects::EffectInstance> &effects, MemoryEffects::Effect *effect,
                      OpOperand &memory) {
  if (isa<BufferType>(memory.get().getType()))
    effects.emplace_back(effect, &memory, SharedMemory::get());
  else
    effects.emplace_back(effect, GlobalMemory::get());
}

void GatherOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffect(effects, MemoryEffects::Read::get(), getMemoryMutable());
}

void ScatterOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffect(effects, MemoryEffects::Write::get(), getMemoryMutable());
}

LogicalResult ScatterOp::verify() {
  auto type = cast<RankedTensorType>(getValue().getType());
  if (failed(verifyGather(*this, getMemory().getType(), getIndices(), getExtents(), type))) return failure();
  if (getFlags() && cast<RankedTensorType>(getFlags().getType()).getShape() != type.getShape())
    return emitOpError() << "has flags " << getFlags().getType() << " for " << type;
  return success();
}

LogicalResult tile::verifyBounds(Operation *op, size_t lower, size_t upper, int64_t rank) {
  if (lower == upper && (lower == 0 || static_cast<int64_t>(lower) == rank)) return success();
  return op->emitOpError() << "has " << lower << " bounds for a tile of rank " << rank;
}

LogicalResult LoadOp::verify() {
  ViewType view = getView().getType();
  return verifyTileAccess(*this, view.getRank(), view.getElementType(), getStarts().size(), getExtents(),
                          getResult().getType());
}

LogicalResult StoreOp::verify() {
  ViewType view = getView().getType();
  if (failed(verifyTileAccess(*this, view.getRank(), view.getElementType(), getStarts().size(), getExtents(),
                              getValue().getType())))
    return failure();
  auto shape = cast<RankedTensorType>(getValue().getType()).getShape();
  if (getFlags() && cast<RankedTensorType>(getFlags().getType()).getShape() != shape)
    return emitOpError() << "has flags " << getFlags().getType() << " for " << getValue().getType();
  return verifyBounds(*this, getLower().size(), getUpper().size(),
                      cast<RankedTensorType>(getValue().getType()).getRank());
}

LogicalResult PrefetchOp::verify() {
  return verifyAccess(*this, getView().getType().getRank(), getStarts().size(), getExtents());
}

static LogicalResult verifyElement(Operation *op, ViewType view, size_t indices, Type value) {
  if (static_cast<int64_t>(indices) != view.getRank())
    return op->emitOpError() << "has " << indices << " indices for " << view.getRank() << " dims";
  Type element = getElementTypeOrSelf(value);
  if (element != loadedElementType(view.getElementType()))
    return op->emitOpError() << "memory of " << view.getElementType() << " holds values of "
                             << loadedElementType(view.getElementType()) << ", not " << element;
  return success();
}

LogicalResult LoadElemOp::verify() {
  return verifyElement(*this, getView().getType(), getIndices().size(), getResult().getType());
}

LogicalResult StoreElemOp::verify() {
  return verifyElement(*this, getView().getType(), getIndices().size(), getValue().getType());
}

static LogicalResult verifyAtomic(Operation *op, ViewType view, ValueRange indices, Type value,
                                  bool isUnsigned) {
  if (failed(verifyElement(op, view, indices.size(), value))) return failure();
  auto tensor = dyn_cast<RankedTensorType>(value);
  for (Value index : indices) {
    auto indexTensor = dyn_cast<RankedTensorType>(index.getType());
    if (static_cast<bool>(tensor) != static_cast<bool>(indexTensor) ||
        (tensor && tensor.getShape() != indexTensor.getShape()))
      return op->emitOpError() << "index of type " << index.getType() << " does not go with a value of type "
                               << value;
  }
  if (isUnsigned && !view.getElementType().isUnsignedInteger())
    return op->emitOpError() << "is unsigned but the memory is of " << view.getElementType();
  return success();
}

LogicalResult AtomicOp::verify() {
  return verifyAtomic(*this, getView().getType(), getIndices(), getValue().getType(), getIsUnsigned());
}

LogicalResult AtomicCasOp::verify() {
  return verifyAtomic(*this, getView().getType(), getIndices(), getValue().getType(), false);
}
