// Chains of few rows whose right operand is contiguous along k, as when a query is multiplied by the
// transpose of the keys. Where the order of a chain is promised, lanes may not run along k (docs/strict.md):
// they run along the columns, whose elements are transposed in registers.
//
//   columns j .. j + lanes, steps k .. k + part    ->    part vectors of a step each
//
// A part has 16 bytes. Parts of columns that are `part` columns apart are loaded side by side, so that all
// exchanges stay within 16 bytes, which is one shuffle each.
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Blocks of one row by four vectors of columns, whose sums hide each other's latency, and of several rows.
constexpr int64_t kVectorsOfRow = 4, kRowsOfBlock = 4, kVectorsOfRows = 2;
constexpr int64_t kPartBytes = 16;
/// Locality of a prefetch into the second-level cache.
constexpr int32_t kSecondLevel = 2;

} // namespace

/// chain(a, its strides, b, the stride of its columns, c, rows, columns, depth). A stride that is known is
/// part of the function: a block has more columns than the processor has registers for their addresses.
func::FuncOp KernelLowering::transposedChainFunction(const Factor &a, const Factor &b, const Place &c) {
  const std::optional<int64_t> stride = getConstantIntValue(b.columnStride);
  auto emit = [&](const Factor &x, const Factor &in, const Place &sum, Value rows, Value columns,
                  Value depth) {
    const Factor y{in.data, constant(1), stride ? constant(*stride) : in.rowStride, in.element, in.cast, {}};
    Value zero = constant(0);
    Value isRow = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, rows, constant(1));
    const int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
    auto choice = scf::IfOp::create(b_, TypeRange(), isRow, true);
    OpBuilder::InsertionGuard guard(b_);
    auto blocks = [&](int64_t height, int64_t vectors) {
      Value whole = roundDown(columns, vectors * lanes);
      auto along = [&](Value from, Value end, int64_t wide) {
        upTo(from, end, wide * lanes, [&](Value column) {
          upTo(zero, rows, height, [&](Value row) {
            transposedBlock(x, y, sum, {height, wide}, row, column, rows, columns, depth);
          });
        });
      };
      along(zero, whole, vectors);
      along(whole, columns, 1);
    };
    b_.setInsertionPointToStart(&choice.getThenRegion().front());
    blocks(1, kVectorsOfRow);
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    blocks(kRowsOfBlock, kVectorsOfRows);
  };
  const std::string suffix = stride ? ".by" + std::to_string(*stride) : "";
  return productFunction("transposed", suffix.c_str(), a, b, c, emit);
}

/// Loads the steps from k on, as many as a part has, of a vector of columns that begin at `columns`.
SmallVector<Value> KernelLowering::loadTransposed(const Factor &f, ArrayRef<Value> columns, Value k,
                                                  int64_t part) {
  const auto lanes = static_cast<int64_t>(columns.size());
  Vec<Value> lines;
  for (int64_t i = 0; i < part; ++i) {
    Vec<Value> parts;
    for (int64_t column = i; column < lanes; column += part)
      parts.push_back(
          load(f.element, address(f.data, arith::AddIOp::create(b_, columns[column], k), f.element), part));
    lines.push_back(converted(f, joined(std::move(parts))));
  }
  // Interleaves elements, then pairs of them.
  for (int64_t width = 1; width < part; width *= 2) {
    Vec<Value> next(part);
    for (int64_t i = 0; i < part; ++i) {
      if (i & width) continue;
      for (int64_t half = 0; half < 2; ++half) {
        Vec<int64_t> mask;
        for (int64_t from = 0; from < lanes; from += part)
          for (int64_t at = half * part / 2; at < (half + 1) * part / 2; at += width)
            for (int64_t side = 0; side < 2; ++side)
              for (int64_t w = 0; w < width; ++w)
                mask.push_back(side * lanes + from + at + w);
        next[i + half * width] = vector::ShuffleOp::create(b_, lines[i], lines[i + width], mask);
      }
    }
    lines = std::move(next);
  }
  if (part == 4) std::swap(lines[1], lines[2]); // the steps come in the order 0, 2, 1, 3
  return lines;
}

/// Computes a block of rows by vectors of columns. One that lacks rows repeats the last one; one of a single
/// vector may lack columns and does the same.
void KernelLowering::transposedBlock(const Factor &a, const Factor &b, const Place &c,
                                     std::array<int64_t, 2> block, Value row, Value column, Value rows,
                                     Value columns, Value depth) {
  const auto [height, vectors] = block;
  const int64_t bytes = c.element.getIntOrFloatBitWidth() / 8, part = kPartBytes / bytes;
  const int64_t lanes = vectorBytes_ / bytes, width = vectors * lanes;
  const bool isWhole = vectors > 1, isPadded = c.shape[1] % width == 0;
  auto plus = [&](Value x, Value y) { return b_.createOrFold<arith::AddIOp>(x, y); };
  auto times = [&](Value x, Value y) { return b_.createOrFold<arith::MulIOp>(x, y); };
  Value zero = constant(0), one = constant(1);
  Value last = arith::SubIOp::create(b_, columns, one), lastRow = arith::SubIOp::create(b_, rows, one);
  Vec<Value> ofA, ofB, at, masks, places, sums;
  Value start = times(column, b.columnStride);
  for (int64_t u = 0; u < width; ++u) {
    Value own = isWhole ? Value() : b_.createOrFold<arith::MinSIOp>(plus(column, constant(u)), last);
    ofB.push_back(isWhole ? plus(start, times(constant(u), b.columnStride)) : times(own, b.columnStride));
  }
  for (int64_t g = 0; g < vectors; ++g) {
    at.push_back(plus(column, constant(g * lanes)));
    masks.push_back(isWhole ? Value() : rangeMask(at.back(), {}, columns, lanes));
  }
  for (int64_t r = 0; r < height; ++r) {
    Value i = height == 1 ? row : b_.createOrFold<arith::MinSIOp>(plus(row, constant(r)), lastRow);
    ofA.push_back(times(i, a.rowStride));
    for (int64_t g = 0; g < vectors; ++g) {
      places.push_back(address(c.data, plus(times(i, constant(c.shape[1])), at[g]), c.element));
      sums.push_back(load(c.element, places.back(), lanes, isPadded ? Value() : masks[g]));
    }
  }
  // Fetches the next block of columns, some of them in each step: several columns side by side are no stream
  // that a processor would foresee, and it awaits few lines at a time.
  const int64_t line = kLineBytes * 8 / target::inMemoryElement(b.element).getIntOrFloatBitWidth();
  const int64_t turns = std::min(line / part, width);
  Value next = plus(start, times(constant(width), b.columnStride));
  auto fetchNext = [&](Value k) {
    Value turn = arith::RemUIOp::create(b_, arith::DivUIOp::create(b_, k, constant(part)), constant(turns));
    Value from = plus(next, arith::SubIOp::create(b_, k, arith::RemUIOp::create(b_, k, constant(line))));
    from = plus(from, times(turn, times(constant(width / turns), b.columnStride)));
    for (int64_t u = 0; u < width / turns; ++u)
      prefetch(b, plus(from, times(constant(u), b.columnStride)), kSecondLevel);
  };
  auto along = [&](Value from, Value end, int64_t steps,
                   llvm::function_ref<Vec<Value>(Value, int64_t)> lines) {
    auto loop = scf::ForOp::create(b_, from, end, constant(steps), sums);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Vec<Value> next(loop.getRegionIterArgs()), factors;
    for (int64_t i = 0; i < height * steps; ++i) {
      Value index = plus(ofA[i / steps], times(plus(k, constant(i % steps)), a.columnStride));
      factors.push_back(splat(readFactor(a, index, 0), lanes));
    }
    // One vector after the other, because registers are few.
    for (int64_t g = 0; g < vectors; ++g) {
      const Vec<Value> ofSteps = lines(k, g);
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t r = 0; r < height; ++r) {
          Value &sum = next[r * vectors + g];
          sum = multiplyAdd(factors[r * steps + step], ofSteps[step], sum);
        }
    }
    scf::YieldOp::create(b_, next);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  };
  Value whole = roundDown(depth, part);
  along(zero, whole, part, [&](Value k, int64_t g) {
    if (g == 0) fetchNext(k);
    return loadTransposed(b, ArrayRef(ofB).slice(g * lanes, lanes), k, part);
  });
  along(whole, depth, 1, [&](Value k, int64_t g) {
    Value first = address(b.data, plus(times(at[g], b.columnStride), k), b.element);
    Value column = loadLanes(b.element, stridedAddresses(first, b.columnStride, b.element, lanes), masks[g]);
    return Vec<Value>{converted(b, column)};
  });
  // Past the columns there are zeros, whose products with infinities are NaN.
  for (int64_t r = 0, i = 0; r < height; ++r)
    for (int64_t g = 0; g < vectors; ++g, ++i)
      isPadded && !isWhole ? replaceMasked(c.element, sums[i], places[i], masks[g])
                           : store(c.element, sums[i], places[i], masks[g]);
}

} // namespace tessera::cpu
