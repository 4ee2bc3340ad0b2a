// Transposes in blocks that are read as rows and exchanged in registers.
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera::cpu {

/// The side of the blocks that are transposed in registers. Twice as much is no faster: 64 shuffles of 512
/// bits on one port instead of 96 of 256 bits on two, and LLVM takes five times as long to select them.
constexpr int64_t kTurned = 8;

/// Transposes blocks of L x L elements, which are read as L rows and transposed in registers; the remainder
/// is transposed element by element.
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
    // Rows `width` apart exchange the off-diagonal corners of their squares of side 2 `width`, the largest
    // first.
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
