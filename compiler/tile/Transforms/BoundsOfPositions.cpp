// Positions of extremes for tile-legalize-bounds: an element that is out of bounds is never the position.
//
//   %i = tile.arg_reduce max %x axis 0   ->   %m = tile.mask %x, %lowest bounds(%lo to %hi)
//                                             %j = tile.arg_reduce max %m axis 0
//                                             %i = arith.maxsi %j, %lo
//
// The neutral element may tie with elements in bounds, and one that is out of bounds and before them would
// win. Then all elements in bounds are equal, so that the position is that of the first one. Where a mask
// leaves no element in bounds, the position is that of the first element that the tensor has.
#include "compiler/tile/Transforms/BoundsLegalizer.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::tile {
namespace {

/// Returns the positions, or the scalar position, of the first elements that are in bounds.
Value firstFlag(OpBuilder &b, ArgReduceOp op, Value flags) {
  auto type = RankedTensorType::get(tileType(flags).getShape(), b.getI32Type());
  auto number = [&](int32_t n) {
    return arith::ConstantOp::create(b, op.getLoc(), DenseElementsAttr::get(type, b.getI32IntegerAttr(n)));
  };
  Value ones = arith::SelectOp::create(b, op.getLoc(), flags, number(1), number(0));
  return ArgReduceOp::create(b, op.getLoc(), op.getResult().getType(), ArgKind::Max, ones, op.getAxis(),
                             /*is_unsigned=*/false);
}

} // namespace

/// The argmax of a whole tile is that of the flattened tile; there the operand of the reshape is filled with
/// the neutral element.
void BoundsLegalizer::legalizeArgReduce(ArgReduceOp op) {
  OpOperand &operand = op->getOpOperand(0);
  OpBuilder b(op);
  Location loc = op.getLoc();
  const Bounds all = bounds(operand.get());
  Value first; // position of the first element that the tensor has
  bool hasFlags = bool(all.flags);
  if (auto reshape = operand.get().getDefiningOp<ReshapeOp>();
      reshape && bounds(reshape.getInput()).hasBox()) {
    const Bounds before = bounds(reshape.getInput());
    first = indexConstant(b, loc, 0);
    for (auto [extent, axis] : llvm::zip(tileType(reshape.getInput()).getShape(), before.box))
      first =
          arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, first, indexConstant(b, loc, extent)),
                                axis ? axis->lo : indexConstant(b, loc, 0));
    hasFlags = bool(before.flags);
  } else if (auto interval = all.box[op.getAxis()]) {
    first = interval->lo;
  }
  Value flagged; // position of the first element in bounds; 0 if there is none
  if (hasFlags && all.flags && !maskWholeLines(b, loc, all.flags, static_cast<unsigned>(op.getAxis())))
    flagged = firstFlag(b, op, flagsOf(b, loc, all, tileType(operand.get()).getShape()));
  fill(operand, op.neutralElement(operand), op.combinedAxis(operand));
  if (!first && !flagged) return;
  b.setInsertionPointAfter(op);
  if (first) {
    first = arith::IndexCastOp::create(b, loc, b.getI32Type(), first);
    if (isTile(op.getResult())) first = BroadcastOp::create(b, loc, op.getResult().getType(), first);
  }
  const Value least = !flagged ? first : first ? arith::MaxSIOp::create(b, loc, flagged, first) : flagged;
  Operation *moved = arith::MaxSIOp::create(b, loc, op.getResult(), least);
  Value result = moved->getResult(0);
  if (isTile(result)) bounds_[result] = bounds(op.getResult());
  op.getResult().replaceAllUsesExcept(result, moved);
}

} // namespace tessera::tile
