// Reductions. A result whose order has one lane is computed by one thread. Otherwise a thread folds every so
// many elements of one lane, or of neighbouring ones, and shuffles combine the partial results of a warp, or,
// where the vendor has none, a tree in shared memory.
#include "compiler/codegen/gpu/Lowering.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

constexpr int64_t kMostLength = 8; // lanes of a thread
constexpr int64_t kMostSteps =
    8; // that a thread reads without a loop, so that it waits for all of them at once

} // namespace

void KernelLowering::tree(int64_t threads, int64_t width, llvm::function_ref<void(Value, Value)> join) {
  lowerBarrier();
  Value position = arith::RemUIOp::create(b_, thread_, i32(width));
  for (int64_t half = width / 2; half; half /= 2) {
    Value active = arith::AndIOp::create(b_, below(thread_, threads), below(position, half));
    guarded(active, [&] { join(thread_, arith::AddIOp::create(b_, thread_, i32(half))); });
    lowerBarrier();
  }
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  Value input = op.getInput();
  const bool isFixed = op.getOrder() && op.getOrder()->isFixed();
  if (isFixed && tile::isInRegisters(input))
    return op.emitOpError() << "has an order that is not implemented on " << backend_
                            << " (TSR_UNIMPLEMENTED): blocks of a tile in registers";
  if (isFixed && !tile::isShared(op, threads_)) return reduceByThreads(op);
  if (tile::isInRegisters(input)) return reduceInRegisters(op);
  Type element = tile::tileType(input).getElementType();
  auto shape = tile::tileType(input).getShape();
  const int64_t axis = op.getAxis();
  bool isUnsigned = op.getIsUnsigned() || element.isInteger(1);
  Vec<int64_t> kept = withoutAxis(shape, axis);
  const auto [lanes, width, length, n, results] = tile::sharesOf(op, threads_);
  auto fold = [&](Value x, Value y) { return combine(op.getKind(), isUnsigned, x, y); };
  const bool hasChains = op.getOrder() && !op.getOrder()->getChains().empty();
  if (hasChains || lanes > n ||
      (lanes > 1 && (results > threads_ || length > kMostLength || (length > 1 && n % lanes))))
    return op.emitOpError() << "has an order that is not implemented on " << backend_
                            << " (TSR_UNIMPLEMENTED): "
                            << (hasChains ? "chains" : "more lanes than threads or elements");
  const bool toTile = tile::isTile(op.getResult());
  Value isInside = insideCondition(ValueRange(input));
  /// The partial results of the lanes from `first` on of one result.
  auto partial = [&](Indices at, Value first, bool isWide, bool allInside = true) {
    llvm::SaveAndRestore wide(isWide_, isWide), whole(vectorsAreWhole_, isWide && !allInside);
    auto read = [&](Value k) {
      if (isWide) return Vec<Value>{evaluate(input, withAxis(at, axis, k), length, {allInside})};
      Vec<Value> elements;
      for (int64_t i = 0; i < length; ++i) {
        Value next = i ? arith::AddIOp::create(b_, k, constant(i)).getResult() : k;
        elements.push_back(evaluate(input, withAxis(at, axis, next), 0, {!isInside}));
      }
      return elements;
    };
    auto foldInto = [&](ValueRange sums, Value k) {
      Vec<Value> next = read(k);
      for (auto [sum, x] : llvm::zip_equal(sums, next))
        x = fold(sum, x);
      return next;
    };
    Vec<Value> sums = read(first);
    if (isFixed) // each begins with the neutral element
      for (Value &sum : sums)
        sum = fold(neutral(op.getKind(), isUnsigned, sum.getType()), sum);
    if (isWide && n / lanes <= kMostSteps) {
      for (int64_t k = lanes; k < n; k += lanes)
        sums = foldInto(sums, arith::AddIOp::create(b_, first, constant(k)));
    } else {
      Value second = arith::AddIOp::create(b_, first, constant(lanes));
      auto loop = scf::ForOp::create(b_, second, constant(n), constant(lanes), sums);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(b_, foldInto(loop.getRegionIterArgs(), loop.getInductionVar()));
      sums = Vec<Value>(loop.getResults());
    }
    if (!isWide) return sums;
    Vec<Value> elements;
    for (int64_t i = 0; i < length; ++i)
      elements.push_back(vector::ExtractOp::create(b_, sums[0], i));
    return elements;
  };
  if (lanes == 1 && toTile) {
    Place to = place(op.getResult());
    nest(kept, 0, [&](Indices at, int64_t) { storePlace(to, partial(at, constant(0), false)[0], at); });
    return success();
  }

  const int64_t threads = results * width;
  Value active = threads < threads_ ? below(thread_, threads) : Value();
  Value position = arith::RemUIOp::create(b_, thread_, i32(width));
  Vec<Value> at = delinearize(arith::DivUIOp::create(b_, thread_, i32(width)), kept);
  const bool canBeWide = length > 1 && tile::vectorLength(input, /*computesRoots=*/false) >= length;
  auto ofThread = [&] {
    Value first =
        arith::IndexCastUIOp::create(b_, b_.getIndexType(), arith::MulIOp::create(b_, position, i32(length)));
    if (!canBeWide) return partial(at, first, false);
    auto atEnd = [&] {
      auto single = [&] { return partial(at, first, false); };
      Value inVectors;
      if (!loadsWholeVectors(input, length, inVectors) || !inVectors) return single();
      return choose(inVectors, [&] { return partial(at, first, true, /*allInside=*/false); }, single);
    };
    return choose(isInside, [&] { return partial(at, first, true); }, atEnd);
  };
  Vec<Value> parts =
      choose(active, ofThread, [&] { return Vec<Value>(length, zeroOf(target::registerElement(element))); });
  Value result = foldThreads(parts, width, fold);
  Value isFirst = both(active, arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, position, i32(0)));
  if (toTile) {
    Place to = place(op.getResult());
    guarded(isFirst, [&] { storePlace(to, result, at); });
  } else if (active) { // the other threads have it from memory
    lowerBarrier();
    guarded(isFirst, [&] { store(element, result, exchange_); });
    lowerBarrier();
    result = load(element, exchange_, 0);
  }
  if (!toTile) map_.map(op.getResult(), result);
  lowerBarrier();
  return success();
}

Value KernelLowering::foldThreads(Vec<Value> parts, int64_t width, Fold fold) {
  const int64_t warp = vendor_.hasShuffles() ? target_.warpSize : 1, length = int64_t(parts.size());
  if (width > warp) {
    // The lanes at the same place of different warps through memory.
    Type type = parts[0].getType();
    auto slot = [&](Value thread, int64_t i) {
      Value word = arith::MulIOp::create(b_, thread, i32(length));
      return exchange(type, i ? arith::AddIOp::create(b_, word, i32(i)).getResult() : word);
    };
    auto get = [&](Value thread) {
      Vec<Value> all;
      for (int64_t i = 0; i < length; ++i)
        all.push_back(load(type, slot(thread, i), 0));
      return all;
    };
    auto put = [&](Value thread, ValueRange all) {
      for (int64_t i = 0; i < length; ++i)
        store(type, all[i], slot(thread, i));
    };
    put(thread_, parts);
    auto foldEach = [&](ValueRange x, ValueRange y) {
      return llvm::map_to_vector(llvm::zip_equal(x, y),
                                 [&](auto pair) { return fold(std::get<0>(pair), std::get<1>(pair)); });
    };
    Value group = arith::SubIOp::create(b_, thread_, arith::RemUIOp::create(b_, thread_, i32(width)));
    if (warp == 1) {
      tree(threads_, width, [&](Value mine, Value other) { put(mine, foldEach(get(mine), get(other))); });
      parts = get(group);
    } else {
      lowerBarrier();
      Value first = arith::AddIOp::create(b_, group, arith::RemUIOp::create(b_, thread_, i32(warp)));
      Vec<Vec<Value>> warps;
      for (int64_t w = 0; w < width; w += warp)
        warps.push_back(get(w ? arith::AddIOp::create(b_, first, i32(w)).getResult() : first));
      for (size_t half = warps.size() / 2; half; half /= 2)
        for (size_t w = 0; w < half; ++w)
          warps[w] = foldEach(warps[w], warps[w + half]);
      parts = warps[0];
    }
    width = warp;
  }
  // Each exchange halves what a thread has, as long as it has several lanes: it goes on with one half of
  // them, and gives the other away.
  Vec<int64_t> divided;
  auto from = [&](Value v, int64_t distance) {
    return shuffle(v,
                   arith::XOrIOp::create(b_, arith::RemUIOp::create(b_, thread_, i32(warp)), i32(distance)));
  };
  for (int64_t half = width / 2; half; half /= 2) {
    if (parts.size() == 1) {
      parts[0] = fold(parts[0], from(parts[0], half));
      continue;
    }
    Value bit = arith::AndIOp::create(b_, thread_, i32(half));
    Value isUpper = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, bit, i32(0));
    const size_t count = parts.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      Value mine = arith::SelectOp::create(b_, isUpper, parts[count + i], parts[i]);
      Value given = arith::SelectOp::create(b_, isUpper, parts[i], parts[count + i]);
      parts[i] = fold(mine, from(given, half));
    }
    parts.resize(count);
    divided.push_back(half);
  }
  for (int64_t half : divided)
    for (Value &part : parts)
      part = fold(part, from(part, half));
  for (size_t half = parts.size() / 2; half; half /= 2)
    for (size_t i = 0; i < half; ++i)
      parts[i] = fold(parts[i], parts[i + half]);
  return parts[0];
}

/// Words of 32 bits are exchanged.
Value KernelLowering::shuffle(Value v, Value lane) {
  Type type = v.getType(), word = b_.getI32Type();
  const unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = b_.getIntegerType(bits);
  if (type != integer) v = arith::BitcastOp::create(b_, integer, v);
  if (bits == 64) {
    Value shift = arith::ConstantOp::create(b_, b_.getI64IntegerAttr(32));
    Value low = arith::TruncIOp::create(b_, word, v);
    Value high = arith::TruncIOp::create(b_, word, arith::ShRUIOp::create(b_, v, shift));
    low = arith::ExtUIOp::create(b_, integer, vendor_.emitShuffle(b_, low, lane));
    high = arith::ExtUIOp::create(b_, integer, vendor_.emitShuffle(b_, high, lane));
    v = arith::OrIOp::create(b_, arith::ShLIOp::create(b_, high, shift), low);
  } else {
    if (bits < 32) v = arith::ExtUIOp::create(b_, word, v);
    v = vendor_.emitShuffle(b_, v, lane);
    if (bits < 32) v = arith::TruncIOp::create(b_, integer, v);
  }
  return type == integer ? v : arith::BitcastOp::create(b_, type, v).getResult();
}

/// Among equal values the lowest position wins, whichever thread found it; likewise among NaNs.
LogicalResult KernelLowering::lowerArgReduce(tile::ArgReduceOp op) {
  Value input = op.getInput();
  Type element = tile::tileType(input).getElementType(), position = b_.getI32Type();
  auto shape = tile::tileType(input).getShape();
  int64_t axis = op.getAxis(), n = shape[axis];
  Vec<int64_t> kept = withoutAxis(shape, axis);
  int64_t results = ShapedType::getNumElements(kept);
  int64_t positions = threads_ * 8; // after the extremes
  const int64_t width = tile::threadsPerResult(threads_, results, n);
  struct Best {
    Value x, k;
  };
  auto later = [&](Best best, Best next) -> Best { // `next` is at later positions than `best`
    Value wins = better(op, next.x, best.x);
    return {arith::SelectOp::create(b_, wins, next.x, best.x),
            arith::SelectOp::create(b_, wins, next.k, best.k)};
  };
  auto either = [&](Best p, Best q) -> Best {
    Value pWins = better(op, p.x, q.x), qWins = better(op, q.x, p.x);
    Value low = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, q.k, p.k);
    Value tie = arith::XOrIOp::create(b_, pWins, arith::ConstantOp::create(b_, b_.getBoolAttr(true)));
    Value take = arith::OrIOp::create(b_, qWins, arith::AndIOp::create(b_, tie, low));
    return {arith::SelectOp::create(b_, take, q.x, p.x), arith::SelectOp::create(b_, take, q.k, p.k)};
  };
  auto partial = [&](Indices at, Value first, int64_t step, Mode mode) -> Best {
    auto read = [&](Value k) -> Best {
      return {evaluate(input, withAxis(at, axis, k), 0, mode), arith::IndexCastOp::create(b_, position, k)};
    };
    // Several elements are read before they are compared, so that a thread waits for all of them at once.
    const int64_t many = width > 1 && n % (step * kMostSteps) == 0 ? kMostSteps : 1;
    auto readMany = [&](Value k) {
      Vec<Best> all;
      for (int64_t i = 0; i < many; ++i)
        all.push_back(read(i ? arith::AddIOp::create(b_, k, constant(i * step)).getResult() : k));
      return all;
    };
    Vec<Best> start = readMany(first);
    Best init = start[0];
    for (Best next : ArrayRef<Best>(start).drop_front())
      init = later(init, next);
    if (many * step == n) return init;
    Value next = arith::AddIOp::create(b_, first, constant(many * step));
    auto loop = scf::ForOp::create(b_, next, constant(n), constant(many * step), ValueRange{init.x, init.k});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Best best = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
    for (Best next : readMany(loop.getInductionVar()))
      best = later(best, next);
    scf::YieldOp::create(b_, ValueRange{best.x, best.k});
    return {loop.getResult(0), loop.getResult(1)};
  };
  auto get = [&](Value i) -> Best {
    return {load(element, exchange(element, i), 0), load(position, exchange(position, i, positions), 0)};
  };
  auto put = [&](Value i, Best best) {
    store(element, best.x, exchange(element, i));
    store(position, best.k, exchange(position, i, positions));
  };
  bool toTile = tile::isTile(op.getResult());
  versioned(insideCondition(ValueRange(input)), [&](Mode mode) {
    if (width == 1 && toTile) {
      Place to = place(op.getResult());
      return nest(kept, 0,
                  [&](Indices at, int64_t) { storePlace(to, partial(at, constant(0), 1, mode).k, at); });
    }
    int64_t threads = results * width;
    Value result = arith::DivUIOp::create(b_, thread_, i32(width));
    Value first =
        arith::IndexCastUIOp::create(b_, b_.getIndexType(), arith::RemUIOp::create(b_, thread_, i32(width)));
    guarded(below(thread_, threads),
            [&] { put(thread_, partial(delinearize(result, kept), first, width, mode)); });
    tree(threads, width, [&](Value mine, Value other) { put(mine, either(get(mine), get(other))); });
    if (toTile) {
      Place to = place(op.getResult());
      spread(results, [&](Value i) {
        storePlace(to, get(arith::MulIOp::create(b_, i, i32(width))).k, delinearize(i, kept));
      });
    } else {
      map_.map(op.getResult(), get(i32(0)).k);
    }
    lowerBarrier();
  });
  return success();
}

} // namespace tessera::gpu
