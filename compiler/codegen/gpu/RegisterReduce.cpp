// Reductions of tiles in registers: each lane combines its registers in their order, then lanes exchange
// their results, those that differ in the lowest bit first.
#include "compiler/codegen/gpu/Lowering.h"

using namespace mlir;

namespace tessera::gpu {

LogicalResult KernelLowering::reduceInRegisters(tile::ReduceOp op) {
  auto type = tile::tileType(op.getInput());
  const layout::TileLayout &from = cast<tile::LayoutAttr>(type.getEncoding()).getValue();
  const size_t axis = op.getAxis();
  if (!isOnThreads(from) || !vendor_.hasShuffles() || type.getRank() < 2) return notImplemented(op);
  const layout::TileLayout to = layout::withoutAxis(from, axis);
  auto moves = [&](layout::Bits image) { return from.unit.onAxis(image, axis) != 0; };
  if (llvm::any_of(from.warp, moves)) return notImplemented(op);
  const layout::RegisterNumbers numbers(to);
  const bool isUnsigned = op.getIsUnsigned() || type.getElementType().isInteger(1);
  auto fold = [&](Value x, Value y) { return combine(op.getKind(), isUnsigned, x, y); };
  Vec<Value> elements = elementsOf(op.getInput()), sums(to.registers());
  for (int64_t r = 0; r < from.registers(); ++r) {
    std::vector<int64_t> at = from.at(r, 0, 0);
    at.erase(at.begin() + int64_t(axis));
    Value &sum = sums[numbers.at(at)];
    sum = sum ? fold(sum, elements[r]) : elements[r];
  }
  for (auto [i, image] : llvm::enumerate(from.lane)) {
    if (!moves(image)) continue;
    if (to.lane[i]) return notImplemented(op); // the lanes of a result would hold different rows
    Value other = arith::XOrIOp::create(b_, arith::RemUIOp::create(b_, thread_, i32(target_.warpSize)),
                                        i32(int64_t(1) << i));
    for (Value &sum : sums)
      sum = fold(sum, shuffle(sum, other));
  }
  bindElements(op.getResult(), sums);
  return success();
}

} // namespace tessera::gpu
