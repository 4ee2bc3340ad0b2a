// Shapes: verification and folding.
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tessera::tile;

static LogicalResult verifySameElement(Operation *op, Type input, Type result) {
  if (getElementTypeOrSelf(input) == getElementTypeOrSelf(result)) return success();
  return op->emitOpError() << "changes the element type from " << getElementTypeOrSelf(input) << " to "
                           << getElementTypeOrSelf(result);
}

/// Returns a constant that has one value everywhere, for another shape.
static OpFoldResult foldSplat(Attribute input, Type result) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(input))
    return splat.resizeSplat(cast<ShapedType>(result));
  return {};
}

LogicalResult IotaOp::verify() {
  if (getResult().getType().hasStaticShape()) return success();
  return emitOpError() << "needs a static extent";
}

//===-- broadcast
//-----------------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  if (failed(verifySameElement(*this, getInput().getType(), getResult().getType()))) return failure();
  auto from = dyn_cast<RankedTensorType>(getInput().getType());
  if (!from) return success();
  RankedTensorType to = tensorOf(getResult());
  if (from.getRank() != to.getRank())
    return emitOpError() << "keeps the rank: " << from << " cannot become " << to;
  for (auto [have, want] : llvm::zip_equal(from.getShape(), to.getShape()))
    if (have != want && have != 1)
      return emitOpError() << "repeats axes of extent 1 only: " << from << " to " << to;
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType()) return getInput();
  if (OpFoldResult splat = foldSplat(adaptor.getInput(), getResult().getType())) return splat;
  if (isa_and_nonnull<IntegerAttr, FloatAttr>(adaptor.getInput()))
    return SplatElementsAttr::get(tensorOf(getResult()), adaptor.getInput());
  return {};
}

namespace {
/// broadcast(broadcast(x)) -> broadcast(x)
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<BroadcastOp>();
    if (!inner) return rewriter.notifyMatchFailure(op, "its operand is no broadcast");
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getResult().getType(), inner.getInput());
    return success();
  }
};
} // namespace

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeBroadcasts>(context);
}

//===-- expand_dims, reshape, transpose, concat
//-----------------------------------------------------------===//

LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> shape(tensorOf(getInput()).getShape());
  if (getAxis() > shape.size())
    return emitOpError() << "axis " << getAxis() << " is outside a tile of rank " << shape.size();
  shape.insert(shape.begin() + getAxis(), 1);
  Attribute encoding = tensorOf(getInput()).getEncoding();
  if (auto layout = dyn_cast_or_null<LayoutAttr>(encoding))
    encoding = LayoutAttr::get(getContext(), layout::withUnitAxis(layout.getValue(), getAxis()));
  auto expected = RankedTensorType::get(shape, tensorOf(getInput()).getElementType(), encoding);
  if (tensorOf(getResult()) != expected)
    return emitOpError() << "gives " << expected << ", not " << getResult().getType();
  return success();
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return foldSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult ReshapeOp::verify() {
  if (failed(verifySameElement(*this, getInput().getType(), getResult().getType()))) return failure();
  if (tensorOf(getInput()).getNumElements() != tensorOf(getResult()).getNumElements())
    return emitOpError() << "cannot make " << getResult().getType() << " of " << getInput().getType()
                         << ": the number of elements differs";
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = tensorOf(getInput()), to = tensorOf(getResult());
  if (failed(verifySameElement(*this, from, to))) return failure();
  if (from.getRank() != to.getRank() || static_cast<int64_t>(getOffsets().size()) != from.getRank())
    return emitOpError() << "keeps the rank and has one offset per axis";
  for (auto [offset, part, whole] : llvm::zip_equal(getOffsets(), to.getShape(), from.getShape()))
    if (offset < 0 || offset > whole - part)
      return emitOpError() << "takes " << part << " elements from " << offset << " on of an axis of "
                           << whole;
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType()) return getInput();
  return foldSplat(adaptor.getInput(), getResult().getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType()) return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult TransposeOp::verify() {
  SmallVector<int64_t> shape(tensorOf(getInput()).getShape());
  if (shape.size() < 2)
    return emitOpError() << "needs a tile of rank 2 or more, not " << getInput().getType();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  if (tensorOf(getResult()) != tensorOf(getInput()).clone(shape))
    return emitOpError() << "gives " << tensorOf(getInput()).clone(shape) << ", not "
                         << getResult().getType();
  return success();
}

LogicalResult PairRowsOp::verify() {
  RankedTensorType from = tensorOf(getInput());
  if (from.getRank() != 2 || from.getDimSize(0) % 2 || !from.getElementType().isBF16())
    return emitOpError() << "needs an even number of rows of bf16, not " << from;
  auto to =
      RankedTensorType::get({from.getDimSize(0) / 2, from.getDimSize(1)}, IntegerType::get(getContext(), 32));
  if (tensorOf(getResult()) != to)
    return emitOpError() << "gives " << to << ", not " << getResult().getType();
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getInput().getDefiningOp<TransposeOp>()) return inner.getInput();
  return foldSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult FlipOp::verify() {
  if (static_cast<int64_t>(getAxis()) < tensorOf(getInput()).getRank()) return success();
  return emitOpError() << "axis " << getAxis() << " is outside a tile of rank "
                       << tensorOf(getInput()).getRank();
}

OpFoldResult FlipOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getInput().getDefiningOp<FlipOp>(); inner && inner.getAxis() == getAxis())
    return inner.getInput();
  if (tensorOf(getInput()).getDimSize(getAxis()) == 1) return getInput();
  return foldSplat(adaptor.getInput(), getResult().getType());
}

LogicalResult WhereOp::verify() {
  if (tensorOf(getCondition()).getShape() == tensorOf(getResult()).getShape()) return success();
  return emitOpError() << "has a condition " << getCondition().getType() << " for " << getResult().getType();
}

OpFoldResult WhereOp::fold(FoldAdaptor adaptor) {
  // Not if both are the same value: the condition may be out of bounds.
  auto condition = dyn_cast_or_null<SplatElementsAttr>(adaptor.getCondition());
  if (!condition) return {};
  return condition.getSplatValue<bool>() ? getX() : getY();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty()) return emitOpError() << "needs at least one tile";
  RankedTensorType first = tensorOf(getInputs().front());
  if (static_cast<int64_t>(getAxis()) >= first.getRank())
    return emitOpError() << "axis " << getAxis() << " is outside a tile of rank " << first.getRank();
  SmallVector<int64_t> shape(first.getShape());
  shape[getAxis()] = 0;
  for (Value input : getInputs()) {
    RankedTensorType type = tensorOf(input);
    SmallVector<int64_t> other(type.getShape());
    if (type.getRank() == first.getRank()) {
      shape[getAxis()] += other[getAxis()];
      other[getAxis()] = first.getShape()[getAxis()];
    }
    if (ArrayRef<int64_t>(other) != first.getShape() || type.getElementType() != first.getElementType())
      return emitOpError() << "joins " << first << " and " << type << ", which differ in more than axis "
                           << getAxis();
  }
  if (tensorOf(getResult()) != first.clone(shape))
    return emitOpError() << "gives " << first.clone(shape) << ", not " << getResult().getType();
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1) return getInputs().front();
  auto first = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInputs().front());
  bool isSplat = first && llvm::all_of(adaptor.getInputs(), [&](Attribute input) {
                   auto other = dyn_cast_or_null<SplatElementsAttr>(input);
                   return other && other.getSplatValue<Attribute>() == first.getSplatValue<Attribute>();
                 });
  return isSplat ? foldSplat(first, getResult().getType()) : OpFoldResult();
}

//===-- mask
//----------------------------------------------------------------------------------------------===//

LogicalResult MaskOp::verify() {
  return verifyBounds(*this, getLower().size(), getUpper().size(), tensorOf(getInput()).getRank());
}

OpFoldResult MaskOp::fold(FoldAdaptor adaptor) {
  // Bounds that are known to contain the whole tile mask nothing.
  ArrayRef<int64_t> shape = tensorOf(getInput()).getShape();
  if (getLower().empty()) return getInput();
  for (auto [lower, upper, extent] : llvm::zip_equal(adaptor.getLower(), adaptor.getUpper(), shape)) {
    auto lo = dyn_cast_or_null<IntegerAttr>(lower), hi = dyn_cast_or_null<IntegerAttr>(upper);
    if (!lo || !hi || lo.getInt() > 0 || hi.getInt() < extent) return {};
  }
  return getInput();
}
