// Scans along an axis. Sums and products of floats are computed by a thread for each line, in index order,
// because their bits depend on it. Of integers, and of extremes, any order has the same result: there several
// threads share a line if there are fewer lines than threads. In each step a thread has up to eight
// neighbouring elements:
//
//   thread     0         1         2
//   scans    a, ab     c, cd     e, ef       its own elements,
//              ab       abcd     abcdef      then with the other threads what each has in all,
//            a, ab   abc, abcd  abcde, ...   and puts what is before them in front of its elements.
#include "compiler/codegen/gpu/Lowering.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

constexpr int64_t kMostElements = 8; // of a thread in a step

/// Has the scan the same bits in any order?
bool isExact(tile::ScanOp op) {
  const tile::ReduceKind kind = tile::reduceKindOf(op.getKind());
  return kind == tile::ReduceKind::Max || kind == tile::ReduceKind::Min ||
         isa<IntegerType>(tile::tileType(op.getInput()).getElementType());
}

} // namespace

LogicalResult KernelLowering::lowerScan(tile::ScanOp op) {
  const Place from = place(op.getInput()), to = place(op.getResult());
  const int64_t axis = op.getAxis(), n = from.shape[axis];
  const tile::ReduceKind kind = tile::reduceKindOf(op.getKind());
  const Vec<int64_t> kept = withoutAxis(from.shape, axis);
  auto fold = [&](Value x, Value y) { return combine(kind, op.getIsUnsigned(), x, y); };
  const int64_t width =
      isExact(op) ? tile::threadsPerResult(threads_, ShapedType::getNumElements(kept), n) : 1;
  if (width > 1 && n % width == 0) {
    scanTogether(from, to, axis, width, fold);
    return success();
  }
  nest(kept, 0, [&](Indices at, int64_t) {
    Vec<Value> start = withAxis(at, axis, constant(0));
    Value first = loadPlace(from, start, 0);
    storePlace(to, first, start);
    auto loop = scf::ForOp::create(b_, constant(1), constant(n), constant(1), ValueRange{first});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Vec<Value> here = withAxis(at, axis, loop.getInductionVar());
    Value next = fold(loop.getRegionIterArg(0), loadPlace(from, here, 0));
    storePlace(to, next, here);
    scf::YieldOp::create(b_, next);
  });
  return success();
}

void KernelLowering::scanTogether(const Place &from, const Place &to, int64_t axis, int64_t width,
                                  Fold fold) {
  const Vec<int64_t> kept = withoutAxis(from.shape, axis);
  const int64_t n = from.shape[axis], threads = ShapedType::getNumElements(kept) * width;
  int64_t count = std::min(n / width, kMostElements);
  while (n % (width * count))
    --count;
  Value active = threads < threads_ ? below(thread_, threads) : Value();
  Value position = arith::RemUIOp::create(b_, thread_, i32(width));
  Value isFirst = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, position, i32(0));
  Vec<Value> at = delinearize(arith::DivUIOp::create(b_, thread_, i32(width)), kept);
  Value own =
      arith::IndexCastUIOp::create(b_, b_.getIndexType(), arith::MulIOp::create(b_, position, i32(count)));
  // Returns the scan up to the end of the step that begins at `k`; `before` is that of the steps before it.
  auto step = [&](Value k, Value before) -> Value {
    auto element = [&](int64_t i) {
      return withAxis(at, axis, arith::AddIOp::create(b_, k, arith::AddIOp::create(b_, own, constant(i))));
    };
    auto scanned = [&] {
      Vec<Value> all;
      for (int64_t i = 0; i < count; ++i)
        all.push_back(loadPlace(from, element(i), 0));
      for (int64_t i = 1; i < count; ++i)
        all[i] = fold(all[i - 1], all[i]);
      return all;
    };
    Vec<Value> values = choose(active, scanned, [&] { return Vec<Value>(count, zeroOf(from.element)); });
    auto get = [&](Value thread) { return load(from.element, exchange(from.element, thread), 0); };
    store(from.element, scanThreads(values.back(), position, width, fold), exchange(from.element, thread_));
    lowerBarrier();
    Value previous =
        arith::SelectOp::create(b_, isFirst, thread_, arith::SubIOp::create(b_, thread_, i32(1)));
    Value last = arith::OrIOp::create(b_, thread_, i32(width - 1));
    if (active) last = arith::SelectOp::create(b_, active, last, thread_);
    Value others = get(previous), all = get(last);
    if (before) all = fold(before, all);
    for (Value &value : values) {
      Value joined = fold(before ? fold(before, others) : others, value);
      value = arith::SelectOp::create(b_, isFirst, before ? fold(before, value) : value, joined);
    }
    auto storeAll = [&] {
      for (auto [i, value] : llvm::enumerate(values))
        storePlace(to, value, element(static_cast<int64_t>(i)));
    };
    if (active)
      guarded(active, storeAll);
    else
      storeAll();
    lowerBarrier();
    return all;
  };
  Value first = step(constant(0), Value());
  const int64_t perStep = width * count;
  if (perStep == n) return;
  auto loop = scf::ForOp::create(b_, constant(perStep), constant(n), constant(perStep), ValueRange{first});
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b_, step(loop.getInductionVar(), loop.getRegionIterArg(0)));
}

/// Each of `width` threads in turn takes what threads 1, 2, 4, ... before it have; within a warp by
/// exchanges, then what the last lanes of warps have, through memory.
Value KernelLowering::scanThreads(Value own, Value position, int64_t width, Fold fold) {
  const int64_t warp = std::min<int64_t>(width, vendor_.hasShuffles() ? target_.warpSize : 1);
  auto take = [&](int64_t distance, Value where, llvm::function_ref<Value(Value)> get) {
    Value has = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, where, i32(distance));
    Value other = get(has);
    own = arith::SelectOp::create(b_, has, fold(other, own), own);
  };
  Value lane = arith::RemUIOp::create(b_, thread_, i32(vendor_.hasShuffles() ? target_.warpSize : 1));
  Value inWarp = arith::RemUIOp::create(b_, position, i32(warp));
  for (int64_t distance = 1; distance < warp; distance *= 2)
    take(distance, inWarp, [&](Value has) {
      Value from = arith::SubIOp::create(b_, lane, i32(distance));
      return shuffle(own, arith::SelectOp::create(b_, has, from, lane));
    });
  const Type type = own.getType();
  for (int64_t distance = warp; distance < width; distance *= 2)
    take(distance, position, [&](Value has) {
      store(type, own, exchange(type, thread_));
      lowerBarrier();
      Value last = arith::OrIOp::create(b_, thread_, i32(warp - 1));
      Value from = arith::SelectOp::create(b_, has, arith::SubIOp::create(b_, last, i32(distance)), thread_);
      Value other = load(type, exchange(type, from), 0);
      lowerBarrier();
      return other;
    });
  return own;
}

} // namespace tessera::gpu
