// Ops that walk an axis: reductions, positions of extremes, scans; and transpose.
//
// A sum along the last axis keeps one partial sum per lane and, for long rows, four of them to hide latency;
// the lanes are combined in a fixed balanced tree, so the same shape gives the same bits every time.
#include "compiler/tile/IR/DTypes.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

/// vector<n x T> with n a power of two -> T, halves combined lane by lane.
Value KernelLowering::foldLanes(tile::ReduceKind kind, bool isUnsigned, Value vector) {
  int64_t n = cast<VectorType>(vector.getType()).getDimSize(0);
  for (; n > 1; n /= 2) {
    Vec<int64_t> low(n / 2), high(n / 2);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), n / 2);
    Value x = vector::ShuffleOp::create(b_, vector, vector, low),
          y = vector::ShuffleOp::create(b_, vector, vector, high);
    vector = combine(kind, isUnsigned, x, y);
  }
  return lane(vector, 0);
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  Value input = op.getInput();
  auto shape = tile::tileType(input).getShape();
  int64_t axis = op.getAxis(), rank = shape.size(), n = shape[axis];
  auto kind = op.getKind();
  bool isUnsigned = op.getIsUnsigned() || tile::tileType(input).getElementType().isInteger(1);
  bool toScalar = !tile::isTile(op.getResult());
  int64_t lanes = lanesFor(input);
  auto fold = [&](Value x, Value y) { return combine(kind, isUnsigned, x, y); };

  Vec<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);

  // One accumulator per value of `start`, `start + step`, ...: a loop whose carried values are the
  // accumulators.
  auto accumulate = [&](int64_t count, llvm::function_ref<Vec<Value>(Value)> read) {
    // `read(i)` gives the vectors of turn i; the first turn initialises.
    Vec<Value> first = read(constant(0));
    if (count == 1) return first;
    auto loop = scf::ForOp::create(b_, constant(1), constant(count), constant(1), first);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Vec<Value> next;
    for (auto [acc, v] : llvm::zip(loop.getRegionIterArgs(), read(loop.getInductionVar())))
      next.push_back(fold(acc, v));
    scf::YieldOp::create(b_, next);
    return Vec<Value>(loop.getResults());
  };

  // Along the last axis: the result of one row, a scalar.
  auto row = [&](Indices outer, Mode mode) {
    auto at = [&](Value j) {
      Vec<Value> index(outer);
      index.push_back(j);
      return index;
    };
    Value result;
    auto join = [&](Value scalar) { result = result ? fold(result, scalar) : scalar; };
    int64_t done = 0;
    for (int64_t ways : {4, 1}) {
      int64_t step = ways * lanes, count = (n - done) / step;
      if (!count || (ways > 1 && count < 2)) continue;
      Vec<Value> accs = accumulate(count, [&](Value turn) {
        Value j =
            arith::AddIOp::create(b_, constant(done), b_.createOrFold<arith::MulIOp>(turn, constant(step)));
        Vec<Value> vectors;
        for (int64_t w = 0; w < ways; ++w)
          vectors.push_back(
              evaluate(input, at(b_.createOrFold<arith::AddIOp>(j, constant(w * lanes))), lanes, mode));
        return vectors;
      });
      while (accs.size() > 1) {
        for (size_t i = 0; i < accs.size() / 2; ++i)
          accs[i] = fold(accs[i], accs[i + accs.size() / 2]);
        accs.resize(accs.size() / 2);
      }
      join(foldLanes(kind, isUnsigned, accs[0]));
      done += count * step;
    }
    for (int64_t left = n - done; left; left = n - done) {
      int64_t width = llvm::bit_floor(static_cast<uint64_t>(left));
      join(foldLanes(kind, isUnsigned, evaluate(input, at(constant(done)), width, mode)));
      done += width;
    }
    return result;
  };

  if (toScalar) {
    // Through one word of stack: the two versions of the loop meet there.
    Value word = scalarSlot(tile::tileType(input).getElementType());
    Type element = tile::tileType(input).getElementType();
    versioned(insideCondition(ValueRange(input)), [&](Mode mode) { store(element, row({}, mode), word); });
    map_.map(op.getResult(), load(element, word, 0));
    return success();
  }
  Place to = place(op.getResult());
  Vec<Value> ends = observedEnds(op.getResult(), op);
  versioned(insideCondition(ValueRange(input)), [&](Mode mode) {
    if (axis == rank - 1)
      return nest(kept, 1, [&](Indices at, int64_t) { storePlace(to, splat(row(at, mode), 1), at); }, ends);
    // Along another axis: lanes are columns.
    nest(
        kept, lanes,
        [&](Indices at, int64_t width) {
          Vec<Value> acc = accumulate(n, [&](Value k) {
            Vec<Value> index(at);
            index.insert(index.begin() + axis, k);
            return Vec<Value>{evaluate(input, index, width, mode)};
          });
          storePlace(to, acc[0], at);
        },
        ends);
  });
  return success();
}

/// Element by element: the first NaN wins, else the lowest position of the extreme.
LogicalResult KernelLowering::lowerArgReduce(tile::ArgReduceOp op) {
  Value input = op.getInput();
  auto shape = tile::tileType(input).getShape();
  int64_t axis = op.getAxis();
  Vec<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  // Positions of the extreme along the axis for `width` neighbouring results.
  auto search = [&](Indices at, int64_t width, Mode mode) {
    auto element = [&](Value k) {
      Vec<Value> index(at);
      index.insert(index.begin() + axis, k);
      return evaluate(input, index, width, mode);
    };
    auto loop = scf::ForOp::create(
        b_, constant(1), constant(shape[axis]), constant(1),
        ValueRange{element(constant(0)), zeroOf(VectorType::get({width}, b_.getI32Type()))});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value x = element(loop.getInductionVar());
    Value wins = better(op, x, loop.getRegionIterArg(0));
    Value k = splat(arith::IndexCastOp::create(b_, b_.getI32Type(), loop.getInductionVar()), width);
    scf::YieldOp::create(b_, ValueRange{arith::SelectOp::create(b_, wins, x, loop.getRegionIterArg(0)),
                                        arith::SelectOp::create(b_, wins, k, loop.getRegionIterArg(1))});
    return loop.getResult(1);
  };
  Value condition = insideCondition(ValueRange(input));
  if (!tile::isTile(op.getResult())) {
    Value word = scalarSlot(b_.getI32Type());
    versioned(condition, [&](Mode mode) { store(b_.getI32Type(), lane(search({}, 1, mode), 0), word); });
    map_.map(op.getResult(), load(b_.getI32Type(), word, 0));
    return success();
  }
  Place to = place(op.getResult());
  Vec<Value> ends = observedEnds(op.getResult(), op);
  bool alongLast = axis + 1 == static_cast<int64_t>(shape.size());
  versioned(condition, [&](Mode mode) {
    nest(
        kept, alongLast ? 1 : lanesFor(input),
        [&](Indices at, int64_t width) { storePlace(to, search(at, width, mode), at); }, ends);
  });
  return success();
}

LogicalResult KernelLowering::lowerScan(tile::ScanOp op) {
  Place from = place(op.getInput()), to = place(op.getResult());
  int64_t axis = op.getAxis(), n = from.shape[axis];
  auto kind = op.getKind() == tile::ScanKind::Sum ? tile::ReduceKind::Sum : tile::ReduceKind::Max;
  Vec<int64_t> kept(from.shape);
  kept.erase(kept.begin() + axis);
  bool alongLast = axis + 1 == static_cast<int64_t>(from.shape.size());
  auto scan = [&](Indices at, int64_t width) {
    auto index = [&](Value k) {
      Vec<Value> i(at);
      i.insert(i.begin() + axis, k);
      return i;
    };
    Value first = loadPlace(from, index(constant(0)), width);
    storePlace(to, first, index(constant(0)));
    auto loop = scf::ForOp::create(b_, constant(1), constant(n), constant(1), ValueRange{first});
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Vec<Value> here = index(loop.getInductionVar());
    Value next = combine(kind, op.getIsUnsigned(), loop.getRegionIterArg(0), loadPlace(from, here, width));
    storePlace(to, next, here);
    scf::YieldOp::create(b_, next);
  };
  if (kept.empty())
    scan({}, 1);
  else
    nest(kept, alongLast ? 1 : lanesFor(op.getInput()), scan);
  return success();
}

/// Side of the blocks a transpose turns in registers. Twice as much is no faster: 64 shuffles of 512 bits on
/// one port for 96 of 256 bits on two, and LLVM takes five times as long to select them.
constexpr int64_t kTurned = 8;

/// In blocks of L x L elements that are read as L rows and turned in registers; what is left element by
/// element.
LogicalResult KernelLowering::lowerTranspose(tile::TransposeOp op) {
  Value from = op.getInput();
  Place to = place(op.getResult());
  auto shape = tile::tileType(from).getShape();
  size_t rank = shape.size();
  int64_t rows = shape[rank - 2], columns = shape[rank - 1], lanes = std::min(kTurned, lanesFor(from));
  Vec<int64_t> outer(shape.drop_back(2));
  auto turned = [&](Indices at, Value i, Value j) {
    Vec<Value> index(at);
    index.push_back(i);
    index.push_back(j);
    return index;
  };
  auto block = [&](Indices at, Value i, Value j, Mode mode) {
    Vec<Value> lines;
    for (int64_t r = 0; r < lanes; ++r)
      lines.push_back(
          evaluate(from, turned(at, b_.createOrFold<arith::AddIOp>(i, constant(r)), j), lanes, mode));
    // Rows `width` apart exchange the corners of their squares of that width, the largest first.
    for (int64_t width = lanes / 2; width; width /= 2) {
      Vec<int64_t> low, high;
      for (int64_t k = 0; k < lanes; ++k) {
        low.push_back(k & width ? lanes + k - width : k);
        high.push_back(k & width ? lanes + k : k + width);
      }
      for (int64_t r = 0; r < lanes; ++r) {
        if (r & width) continue;
        Value x = lines[r], y = lines[r + width];
        lines[r] = vector::ShuffleOp::create(b_, x, y, low);
        lines[r + width] = vector::ShuffleOp::create(b_, x, y, high);
      }
    }
    for (int64_t r = 0; r < lanes; ++r)
      storePlace(to, lines[r], turned(at, b_.createOrFold<arith::AddIOp>(j, constant(r)), i));
  };
  Vec<Value> ends = rank == 2 ? operandEnds(op.getResult(), readInPlace(op.getResult())) : Vec<Value>();
  if (ends.empty()) ends = observedEnds(op.getResult(), op);
  if (ends.empty()) ends.resize(rank);
  Value rowEnd = ends[rank - 1], columnEnd = ends[rank - 2]; // of the input
  auto plane = [&](Indices at, Mode mode) {
    int64_t wholeRows = rows / lanes * lanes, wholeColumns = columns / lanes * lanes;
    auto walk = [&](int64_t firstRow, int64_t lastRow, int64_t firstColumn, int64_t lastColumn, int64_t step,
                    llvm::function_ref<void(Value, Value)> body) {
      auto row = [&](Value i) {
        loop(firstColumn, lastColumn, step, [&](Value j) { body(i, j); }, columnEnd);
      };
      loop(firstRow, lastRow, step, row, rowEnd);
    };
    if (!wholeColumns) wholeRows = 0;
    walk(0, wholeRows, 0, wholeColumns, lanes, [&](Value i, Value j) { block(at, i, j, mode); });
    auto single = [&](Value i, Value j) {
      storePlace(to, evaluate(from, turned(at, i, j), 1, mode), turned(at, j, i));
    };
    walk(0, wholeRows, wholeColumns, columns, 1, single);
    walk(wholeRows, rows, 0, columns, 1, single);
  };
  versioned(insideCondition(ValueRange(from)), [&](Mode mode) {
    if (outer.empty()) return plane({}, mode);
    nest(outer, 1, [&](Indices at, int64_t) { plane(at, mode); }, ArrayRef(ends).drop_back(2));
  });
  return success();
}

} // namespace tessera::cpu
