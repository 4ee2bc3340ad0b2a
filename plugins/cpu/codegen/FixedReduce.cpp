// Sums and products in an order of fixed_reductions: `#tile.order<lanes = 64, block = 1024>` along the last
// axis, and leaves, `<lanes = 1, block = 256>`, along another one. Lanes are those of as many vectors as they
// fill, so that the vector width of the target has no effect on the bits.
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {
namespace {

/// Lanes along another axis than the last are code for each element (tile-transpose-products makes them).
constexpr int64_t kMostLanes = 256;

} // namespace

LogicalResult KernelLowering::lowerFixedReduce(tile::ReduceOp op) {
  Value input = op.getInput();
  const auto type = tile::tileType(input);
  Type element = type.getElementType();
  const auto kind = op.getKind();
  const int64_t axis = op.getAxis(), n = type.getDimSize(axis), native = lanesFor(input);
  const int64_t lanes = op.getOrder()->getLanes(), block = op.getOrder()->getBlock();
  const bool alongLast = axis + 1 == type.getRank();
  if (failed(checkBlocks(op, "cpu"))) return failure();
  if (!alongLast && lanes > 1 && n > kMostLanes)
    return op.emitOpError() << "is not implemented on cpu (TSR_UNIMPLEMENTED): lanes of " << n
                            << " elements along another axis than the last";
  auto fold = [&](Value x, Value y) { return combine(kind, /*isUnsigned=*/false, x, y); };
  auto start = [&](int64_t width) { return neutral(kind, /*isUnsigned=*/false, vectorOf(element, width)); };
  auto join = [&](ArrayRef<Vec<Value>> blocks) {
    Vec<Value> joined;
    for (size_t v = 0; v < blocks.front().size(); ++v)
      joined.push_back(joinPairwise(
          Vec<Value>(llvm::map_range(blocks, [&](const Vec<Value> &block) { return block[v]; })), fold));
    return joined;
  };

  auto columns = [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
    Vec<Vec<Value>> leaves;
    for (int64_t from = 0; from < n; from += block) {
      Vec<Value> sums;
      for (int64_t width : widths)
        sums.push_back(start(width));
      leaves.push_back(alongLine(
          from, std::min(n, from + block), 1, line, sums, [&](Value k, ValueRange carried, Mode mode) {
            Vec<Value> next;
            for (auto [i, sum] : llvm::enumerate(carried)) {
              Vec<Value> index = elementAt(at, axis, k, static_cast<int64_t>(i) * native);
              next.push_back(fold(sum, evaluate(input, index, widths[i], mode)));
            }
            return next;
          }));
    }
    return join(leaves);
  };

  /// The same with lanes, which are combined as soon as their elements have been added.
  auto columnsOfLanes = [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
    auto lane = [&](auto &&lane, int64_t first, int64_t step) -> Vec<Value> {
      Vec<Value> sums;
      if (step < lanes) {
        sums = lane(lane, first, 2 * step);
        for (auto [sum, other] : llvm::zip_equal(sums, lane(lane, first + step, 2 * step)))
          sum = fold(sum, other);
        return sums;
      }
      for (auto [i, width] : llvm::enumerate(widths)) {
        Value sum = start(width);
        for (int64_t k = first; k < n; k += lanes)
          sum = fold(sum, evaluate(input, elementAt(at, axis, constant(k), static_cast<int64_t>(i) * native),
                                   width, {!line.end}));
        sums.push_back(sum);
      }
      return sums;
    };
    return lane(lane, 0, 1);
  };

  const int64_t width = std::min(native, lanes), ways = lanes / width;
  const bool inParts = !computesFunction(input); // else a vector is too much code to be repeated
  /// The last elements of a block, fewer than it has lanes, added to those of `chain` on.
  auto addRest = [&](Indices at, const Line &line, int64_t from, int64_t count, Value sum) {
    const Mode mode{!line.end};
    if (count == width)
      return fold(sum, evaluate(input, elementAt(at, axis, constant(from), 0), width, mode));
    Value all = start(width);
    for (int64_t done = 0; done < count;) {
      const auto part = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(count - done)));
      Value some = evaluate(input, elementAt(at, axis, constant(from + done), 0), part, mode);
      Vec<int64_t> spread(width, 0), choice(width);
      std::iota(spread.begin() + done, spread.begin() + done + part, 0);
      std::iota(choice.begin(), choice.end(), 0);
      std::iota(choice.begin() + done, choice.begin() + done + part, width + done);
      some = vector::ShuffleOp::create(b_, some, some, spread);
      all = vector::ShuffleOp::create(b_, all, some, choice);
      done += part;
    }
    return fold(sum, all);
  };
  auto row = [&](Indices at, const Line &line) {
    Vec<Vec<Value>> blocks;
    for (int64_t from = 0; from < n; from += block) {
      const int64_t count = std::min(block, n - from), whole = count / lanes * lanes;
      Vec<Value> sums(ways, start(width));
      if (whole)
        sums = alongChains(from, from + whole, ways, width, line, inParts, sums,
                           [&](Value k, ValueRange sum, Mode mode) {
                             Value x = evaluate(input, elementAt(at, axis, k, 0), width, mode);
                             return Vec<Value>{fold(sum[0], x)};
                           });
      for (int64_t chain = 0, left = count - whole; left > 0; ++chain, left -= width)
        sums[chain] = addRest(at, line, from + whole + chain * width, std::min(left, width), sums[chain]);
      for (int64_t left = ways; left > 1; left /= 2)
        for (int64_t i = 0; i < left / 2; ++i)
          sums[i] = fold(sums[i], sums[i + left / 2]);
      blocks.push_back({foldLanes(sums.front(), fold)});
    }
    return join(blocks);
  };
  reduceLines(input, op.getResult(), axis, native, partOf(input, kind, /*isUnsigned=*/false),
              [&](Indices at, ArrayRef<int64_t> widths, const Line &line) {
                return widths.empty() ? row(at, line)
                       : lanes > 1    ? columnsOfLanes(at, widths, line)
                                      : columns(at, widths, line);
              });
  return success();
}

} // namespace tessera::cpu
