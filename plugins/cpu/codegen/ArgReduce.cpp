// Positions of extremes along an axis.
#include "compiler/tile/IR/DTypes.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

/// The first NaN wins, else the lowest position of the extreme. A lane keeps the best of the elements it
/// sees, the first of equal ones; of two lanes the lower position wins where neither value is better.
LogicalResult KernelLowering::lowerArgReduce(tile::ArgReduceOp op) {
  Value input = op.getInput();
  auto type = tile::tileType(input);
  int64_t axis = op.getAxis(), n = type.getDimSize(axis), lanes = lanesFor(input, b_.getI32Type());
  auto kind = op.getKind() == tile::ArgKind::Max ? tile::ReduceKind::Max : tile::ReduceKind::Min;
  bool isUnsigned = op.getIsUnsigned() || type.getElementType().isInteger(1);
  struct Best {
    Value value, position;
  };
  auto choose = [&](Value condition, Best yes, Best no) {
    return Best{arith::SelectOp::create(b_, condition, yes.value, no.value),
                arith::SelectOp::create(b_, condition, yes.position, no.position)};
  };
  auto pick = [&](Best x, Best y) {
    Value isLower = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, y.position, x.position);
    Best chosen = choose(better(op, x.value, y.value), x, choose(isLower, y, x));
    return choose(better(op, y.value, x.value), y, chosen);
  };
  auto start = [&](int64_t width) {
    return neutral(kind, isUnsigned, vectorOf(type.getElementType(), width));
  };

  auto parts = [](ArrayRef<Best> best) {
    Vec<Value> values;
    for (Best b : best)
      values.append({b.value, b.position});
    return values;
  };
  auto joined = [](ArrayRef<Value> values) {
    Vec<Best> best;
    for (size_t i = 0; i < values.size(); i += 2)
      best.push_back({values[i], values[i + 1]});
    return best;
  };
  auto next = [&](Best x, Value value, Value position) {
    Best chosen = choose(better(op, x.value, value), x, {value, position});
    return Vec<Value>{chosen.value, chosen.position};
  };
  auto columns = [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
    Vec<Best> best;
    for (int64_t width : widths)
      best.push_back({start(width), zeroOf(VectorType::get({width}, b_.getI32Type()))});
    best = joined(alongLine(0, n, 1, line, parts(best), [&](Value k, ValueRange old, Mode mode) {
      Value position = arith::IndexCastOp::create(b_, b_.getI32Type(), k);
      Vec<Value> found;
      for (size_t i = 0; i < widths.size(); ++i) {
        int64_t offset = static_cast<int64_t>(i) * lanes;
        Best x{evaluate(input, elementAt(at, axis, k, offset), widths[i], mode), splat(position, widths[i])};
        found.append(next(x, old[2 * i], old[2 * i + 1]));
      }
      return found;
    }));
    return llvm::map_to_vector(best, [](Best b) { return b.position; });
  };
  const bool inParts = !computesFunction(input);
  auto row = [&](Indices at, const Line &line) {
    Best result{};
    auto join = [&](Best b) {
      for (int64_t width = cast<VectorType>(b.value.getType()).getDimSize(0); width > 1; width /= 2) {
        auto half = [&](Value v, int64_t first) -> Value {
          Vec<int64_t> part(width / 2);
          std::iota(part.begin(), part.end(), first);
          return vector::ShuffleOp::create(b_, v, v, part);
        };
        b = pick({half(b.value, 0), half(b.position, 0)},
                 {half(b.value, width / 2), half(b.position, width / 2)});
      }
      result = result.value ? pick(result, b) : b;
    };
    int64_t done = 0;
    for (int64_t ways : {4, 1}) {
      int64_t step = ways * lanes, count = (n - done) / step;
      if (!count || (ways > 1 && count < 2)) continue;
      Vec<Best> best;
      for (int64_t w = 0; w < ways; ++w)
        best.push_back({start(lanes), laneIndices(constant(done + w * lanes), lanes)});
      best = joined(alongChains(done, done + count * step, ways, lanes, line, inParts, parts(best),
                                [&](Value k, ValueRange old, Mode mode) {
                                  Vec<Value> index = elementAt(at, axis, k, 0);
                                  Best x{evaluate(input, index, lanes, mode), laneIndices(k, lanes)};
                                  return next(x, old[0], old[1]);
                                }));
      for (size_t left = best.size(); left > 1; left /= 2)
        for (size_t i = 0; i < left / 2; ++i)
          best[i] = pick(best[i], best[i + left / 2]);
      join(best[0]);
      done += count * step;
    }
    for (int64_t left = n - done; left; left = n - done) {
      int64_t width = llvm::bit_floor(static_cast<uint64_t>(left));
      join({evaluate(input, elementAt(at, axis, constant(done), 0), width, {!line.end}),
            laneIndices(constant(done), width)});
      done += width;
    }
    return lane(result.position, 0);
  };
  reduceLines(input, op.getResult(), axis, lanes, partOf(input, kind, isUnsigned),
              [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
                return widths.empty() ? Vec<Value>{row(at, line)} : columns(at, widths, line);
              });
  return success();
}

} // namespace tessera::cpu
