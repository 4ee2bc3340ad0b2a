// Reductions. A result whose order has one lane is computed by one thread. Otherwise a thread per lane folds
// every so many elements, and a tree combines their partial results.
#include "compiler/codegen/gpu/Lowering.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

SmallVector<int64_t> without(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  return kept;
}

SmallVector<Value> with(ArrayRef<Value> at, int64_t axis, Value k) {
  SmallVector<Value> index(at);
  index.insert(index.begin() + axis, k);
  return index;
}

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
  Type element = tile::tileType(input).getElementType();
  auto shape = tile::tileType(input).getShape();
  int64_t axis = op.getAxis(), n = shape[axis];
  bool isUnsigned = op.getIsUnsigned() || element.isInteger(1);
  Vec<int64_t> kept = without(shape, axis);
  int64_t results = ShapedType::getNumElements(kept);
  auto fold = [&](Value x, Value y) { return combine(op.getKind(), isUnsigned, x, y); };
  /// The elements first, first + step, ... of one result.
  auto partial = [&](Indices at, Value first, int64_t step, Mode mode) {
    auto read = [&](Value k) { return evaluate(input, with(at, axis, k), 0, mode); };
    Value next = arith::AddIOp::create(b_, first, constant(step));
    auto loop = scf::ForOp::create(b_, next, constant(n), constant(step), ValueRange{read(first)});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b_, fold(loop.getRegionIterArg(0), read(loop.getInductionVar())));
    return loop.getResult(0);
  };
  int64_t width = op.getOrder() ? op.getOrder()->getLanes() : 1;
  const bool hasChains = op.getOrder() && !op.getOrder()->getChains().empty();
  if (hasChains || (width > 1 && (results * width > target_.threads || width > n)))
    return op.emitOpError() << "has an order that is not implemented on " << backend_
                            << " (TSR_UNIMPLEMENTED): "
                            << (hasChains ? "chains" : "more lanes than threads or elements");
  bool toTile = tile::isTile(op.getResult());
  versioned(insideCondition(ValueRange(input)), [&](Mode mode) {
    if (width == 1 && toTile) {
      Place to = place(op.getResult());
      return nest(kept, 0,
                  [&](Indices at, int64_t) { storePlace(to, partial(at, constant(0), 1, mode), at); });
    }
    int64_t threads = results * width;
    Value result = arith::DivUIOp::create(b_, thread_, i32(width));
    Value first =
        arith::IndexCastUIOp::create(b_, b_.getIndexType(), arith::RemUIOp::create(b_, thread_, i32(width)));
    guarded(below(thread_, threads), [&] {
      store(element, partial(delinearize(result, kept), first, width, mode), exchange(element, thread_));
    });
    tree(threads, width, [&](Value mine, Value other) {
      Value x = load(element, exchange(element, mine), 0), y = load(element, exchange(element, other), 0);
      store(element, fold(x, y), exchange(element, mine));
    });
    if (toTile) {
      Place to = place(op.getResult());
      spread(results, [&](Value i) {
        Value from = arith::MulIOp::create(b_, i, i32(width));
        storePlace(to, load(element, exchange(element, from), 0), delinearize(i, kept));
      });
    } else {
      map_.map(op.getResult(), load(element, exchange(element, i32(0)), 0));
    }
    lowerBarrier();
  });
  return success();
}

/// Among equal values the lowest position wins, whichever thread found it; likewise among NaNs.
LogicalResult KernelLowering::lowerArgReduce(tile::ArgReduceOp op) {
  Value input = op.getInput();
  Type element = tile::tileType(input).getElementType(), position = b_.getI32Type();
  auto shape = tile::tileType(input).getShape();
  int64_t axis = op.getAxis(), n = shape[axis];
  Vec<int64_t> kept = without(shape, axis);
  int64_t results = ShapedType::getNumElements(kept);
  int64_t positions = target_.threads * 8; // after the extremes
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
      return {evaluate(input, with(at, axis, k), 0, mode), arith::IndexCastOp::create(b_, position, k)};
    };
    Best init = read(first);
    Value next = arith::AddIOp::create(b_, first, constant(step));
    auto loop = scf::ForOp::create(b_, next, constant(n), constant(step), ValueRange{init.x, init.k});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Best best = later({loop.getRegionIterArg(0), loop.getRegionIterArg(1)}, read(loop.getInductionVar()));
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
  int64_t width = tile::threadsPerResult(target_.threads, results, n);
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

/// A thread per line along the axis, in index order.
LogicalResult KernelLowering::lowerScan(tile::ScanOp op) {
  Place from = place(op.getInput()), to = place(op.getResult());
  int64_t axis = op.getAxis();
  const tile::ReduceKind kind = tile::reduceKindOf(op.getKind());
  nest(without(from.shape, axis), 0, [&](Indices at, int64_t) {
    Vec<Value> start = with(at, axis, constant(0));
    Value first = loadPlace(from, start, 0);
    storePlace(to, first, start);
    auto loop =
        scf::ForOp::create(b_, constant(1), constant(from.shape[axis]), constant(1), ValueRange{first});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Vec<Value> here = with(at, axis, loop.getInductionVar());
    Value next = combine(kind, op.getIsUnsigned(), loop.getRegionIterArg(0), loadPlace(from, here, 0));
    storePlace(to, next, here);
    scf::YieldOp::create(b_, next);
  });
  return success();
}

LogicalResult KernelLowering::lowerTranspose(tile::TransposeOp op) {
  Place to = place(op.getResult());
  versioned(insideCondition(ValueRange(op.getInput())), [&](Mode mode) {
    nest(to.shape, 0, [&](Indices at, int64_t) {
      Vec<Value> from(at);
      std::swap(from[from.size() - 2], from.back());
      storePlace(to, evaluate(op.getInput(), from, 0, mode), at);
    });
  });
  return success();
}

} // namespace tessera::gpu
