// Sums and products in an order of fixed_reductions, `#tile.order<lanes = 64, block = 1024>`, that threads do
// not share evenly: each result is computed by one thread. A scalar is computed by all of them, so that each
// has it.
#include "compiler/codegen/gpu/Lowering.h"

using namespace mlir;

namespace tessera::gpu {

LogicalResult KernelLowering::reduceByThreads(tile::ReduceOp op) {
  Value input = op.getInput();
  const auto type = tile::tileType(input);
  const int64_t axis = op.getAxis(), n = type.getDimSize(axis);
  const int64_t lanes = op.getOrder()->getLanes(), block = op.getOrder()->getBlock();
  if (failed(checkBlocks(op, backend_))) return failure();
  auto fold = [&](Value x, Value y) { return combine(op.getKind(), /*isUnsigned=*/false, x, y); };
  const Value start = neutral(op.getKind(), /*isUnsigned=*/false, type.getElementType());
  Value isInside = insideCondition(ValueRange(input));
  auto element = [&](ArrayRef<Value> at, Value k) {
    SmallVector<Value> index(at);
    index.insert(index.begin() + axis, k);
    return evaluate(input, index, 0, {!isInside});
  };
  auto resultAt = [&](ArrayRef<Value> at) {
    Vec<Value> blocks;
    for (int64_t from = 0; from < n; from += block) {
      const int64_t count = std::min(block, n - from), whole = count / lanes * lanes;
      Vec<Value> sums(lanes, start);
      auto loop = scf::ForOp::create(b_, constant(from), constant(from + whole), constant(lanes), sums);
      {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(loop.getBody());
        Vec<Value> next;
        for (auto [lane, sum] : llvm::enumerate(loop.getRegionIterArgs()))
          next.push_back(fold(sum, element(at, arith::AddIOp::create(b_, loop.getInductionVar(),
                                                                     constant(static_cast<int64_t>(lane))))));
        scf::YieldOp::create(b_, next);
      }
      sums = Vec<Value>(loop.getResults());
      for (int64_t lane = 0; lane < count - whole; ++lane)
        sums[lane] = fold(sums[lane], element(at, constant(from + whole + lane)));
      for (int64_t half = lanes / 2; half; half /= 2)
        for (int64_t lane = 0; lane < half; ++lane)
          sums[lane] = fold(sums[lane], sums[lane + half]);
      blocks.push_back(sums.front());
    }
    return joinPairwise(std::move(blocks), fold);
  };
  if (!tile::isTile(op.getResult())) {
    map_.map(op.getResult(), resultAt({}));
    lowerBarrier(); // the memory of the tile may be written next
    return success();
  }
  SmallVector<int64_t> kept(type.getShape());
  kept.erase(kept.begin() + axis);
  Place to = place(op.getResult());
  nest(kept, 0, [&](Indices at, int64_t) { storePlace(to, resultAt(Vec<Value>(at)), at); });
  return success();
}

} // namespace tessera::gpu
