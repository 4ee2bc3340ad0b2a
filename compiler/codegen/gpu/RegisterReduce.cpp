// Reductions of tiles in registers: each lane combines its registers in their order, then lanes exchange
// their results, those that differ in the lowest bit first. Warps that share a row exchange theirs through
// shared memory and combine them as a balanced tree.
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
  const layout::RegisterNumbers numbers(to);
  const bool isUnsigned = op.getIsUnsigned() || type.getElementType().isInteger(1);
  auto fold = [&](Value x, Value y) { return combine(op.getKind(), isUnsigned, x, y); };
  // The operation whose results are combined as they are computed; null: they are there already.
  Operation *computed = op.getInput().getDefiningOp();
  if (!computed || !isDeferred(computed)) computed = nullptr;
  const Vec<Value> elements = computed ? Vec<Value>() : elementsOf(op.getInput()),
                   thread = computed ? threadIndex(from) : Vec<Value>();
  auto combined = [&](Mode mode) {
    Vec<Value> sums(to.registers());
    mode_ = mode;
    for (register_ = 0; register_ < from.registers(); ++register_) {
      std::vector<int64_t> at = from.at(register_, 0, 0);
      at.erase(at.begin() + int64_t(axis));
      if (computed) at_ = registerIndex(from, thread, register_);
      Value element = computed ? evaluateElementwise(computed, at_, 0, mode) : elements[size_t(register_)];
      Value &sum = sums[numbers.at(at)];
      sum = sum ? fold(sum, element) : element;
    }
    return sums;
  };
  Value condition =
      computed ? both(insideCondition(computed), beginDeferredLoads(computed->getOperands())) : Value();
  Vec<Value> sums = choose(condition, [&] { return combined({true}); }, [&] { return combined({false}); });
  deferred_.clear();
  for (auto [i, image] : llvm::enumerate(from.lane)) {
    if (!moves(image)) continue;
    if (to.lane[i]) return notImplemented(op); // the lanes of a result would hold different rows
    Value other = arith::XOrIOp::create(b_, arith::RemUIOp::create(b_, thread_, i32(target_.warpSize)),
                                        i32(int64_t(1) << i));
    for (Value &sum : sums)
      sum = fold(sum, shuffle(sum, other));
  }
  int64_t reduced = 0; // the bits of a thread's number in which the warps of a row differ
  for (auto [i, image] : llvm::enumerate(from.warp))
    if (moves(image)) {
      if (to.warp[i]) return notImplemented(op);
      reduced |= target_.warpSize << i;
    }
  if (reduced) foldWarps(sums, reduced, fold);
  bindElements(op.getResult(), sums);
  return success();
}

void KernelLowering::foldWarps(MutableArrayRef<Value> sums, int64_t reduced, Fold fold) {
  const Type type = sums[0].getType();
  auto slot = [&](Value thread, size_t i) {
    return exchange(type, arith::AddIOp::create(b_, thread, i32(int64_t(i) * threads_)));
  };
  for (auto [i, sum] : llvm::enumerate(sums))
    store(type, sum, slot(thread_, i));
  lowerBarrier();
  Value first = arith::AndIOp::create(b_, thread_, i32(threads_ - 1 - reduced));
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Vec<Value> parts;
    int64_t warp = 0; // each combination of the bits
    do {
      parts.push_back(load(type, slot(arith::OrIOp::create(b_, first, i32(warp)), i), 0));
      warp = (warp - reduced) & reduced;
    } while (warp);
    for (size_t half = parts.size() / 2; half; half /= 2)
      for (size_t w = 0; w < half; ++w)
        parts[w] = fold(parts[w], parts[w + half]);
    sum = parts[0];
  }
  lowerBarrier(); // the exchange area may be overwritten
}

} // namespace tessera::gpu
