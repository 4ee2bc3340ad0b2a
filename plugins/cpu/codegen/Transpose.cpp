// Transposes in blocks that are read as rows and exchanged in registers.
#include "compiler/tile/IR/DTypes.h"
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

/// The side of the blocks that are transposed in registers. Twice as much is no faster: 64 shuffles of 512
/// bits on one port instead of 96 of 256 bits on two, and LLVM takes five times as long to select them.
constexpr int64_t kTurned = 8;

/// So many columns are transposed element by element where their rows would be parts of vectors.
constexpr int64_t kFewColumns = 4;

/// Vectors of columns have so many bytes: bytes are shuffled within 16.
constexpr int64_t kShuffledBytes = 16;

/// Vectors `apart` exchange the off-diagonal corners of their squares of side 2 `apart`, the largest first.
void KernelLowering::transposeGroups(MutableArrayRef<Value> lines) {
  const auto count = static_cast<int64_t>(lines.size());
  for (int64_t apart = count / 2; apart; apart /= 2) {
    const int64_t lanes = cast<VectorType>(lines.front().getType()).getDimSize(0);
    Vec<int64_t> low, high;
    for (int64_t k = 0; k < lanes; ++k) {
      low.push_back(k & apart ? lanes + k - apart : k);
      high.push_back(k & apart ? lanes + k : k + apart);
    }
    for (int64_t r = 0; r < count; ++r) {
      if (r & apart) continue;
      Value x = lines[r], y = lines[r + apart];
      lines[r] = vector::ShuffleOp::create(b_, x, y, low);
      lines[r + apart] = vector::ShuffleOp::create(b_, x, y, high);
    }
  }
}

Value KernelLowering::joined(Vec<Value> parts) {
  for (; parts.size() > 1; parts.truncate(parts.size() / 2))
    for (size_t p = 0; p < parts.size() / 2; ++p) {
      Vec<int64_t> both(2 * cast<VectorType>(parts[2 * p].getType()).getDimSize(0));
      std::iota(both.begin(), both.end(), 0);
      parts[p] = vector::ShuffleOp::create(b_, parts[2 * p], parts[2 * p + 1], both);
    }
  return parts.front();
}

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
    transposeGroups(lines);
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
  auto blocks = [&] {
    versioned(insideCondition(ValueRange(from)), [&](Mode mode) {
      if (outer.empty()) return plane({}, mode);
      nest(outer, 1, [&](Indices at, int64_t) { plane(at, mode); }, ArrayRef(ends).drop_back(2));
    });
  };
  if (!columnEnd || vectorBytes_ >= 64 || columns < lanes) return blocks(), success();
  // Without AVX-512, loads of parts of a vector take longer than a few elements.
  Vec<Value> present;
  for (auto [end, extent] : llvm::zip(ArrayRef(ends).drop_back(2), outer))
    present.push_back(end ? end : constant(extent));
  Value rowLimit = constant(rows);
  if (rowEnd)
    rowLimit =
        b_.createOrFold<arith::MaxSIOp>(b_.createOrFold<arith::MinSIOp>(rowEnd, rowLimit), constant(0));
  present.push_back(rowLimit);
  present.push_back(columnEnd);
  Value isNarrow = arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, columnEnd, constant(kFewColumns));
  auto choice = scf::IfOp::create(b_, TypeRange(), both(isNarrow, insideCondition(ValueRange(from), present)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&choice.getThenRegion().front());
  auto elements = [&](Indices at, Value first) {
    auto column = [&](Value j) {
      auto element = [&](Value i) {
        storePlace(to, evaluate(from, turned(at, i, j), 1, {true}), turned(at, j, i));
      };
      upTo(first, rowLimit, 1, element);
    };
    loop(0, columns, 1, column, columnEnd);
  };
  // Where rows follow each other without gaps, vectors of a column are shuffled from those of memory.
  auto load = from.getDefiningOp<tile::LoadOp>();
  std::optional<Window> dense;
  if (load && !tile::inMemory(from) && !tessera::isPacked(views_[load.getView()].element))
    dense = window(load.getView(), load.getStarts(), load.getExtents(), true);
  if (dense && (dense->dimOfAxis.size() != rank || !dense->isContiguous())) dense.reset();
  auto fewColumns = [&](Indices at, int64_t) {
    if (!dense) return elements(at, constant(0));
    const Type element = dense->view.element;
    const int64_t width = kShuffledBytes * 8 / target::inMemoryElement(element).getIntOrFloatBitWidth();
    Value stride = dense->view.strides[dense->dimOfAxis[rank - 2]];
    auto is = [&](Value v, int64_t n) -> Value {
      return arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, v, constant(n));
    };
    std::function<void(int64_t)> withColumns = [&](int64_t count) {
      if (count > kFewColumns) return elements(at, constant(0));
      auto isCount = scf::IfOp::create(b_, TypeRange(), both(is(columnEnd, count), is(stride, count)),
                                       /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(&isCount.getThenRegion().front());
      Value whole = wholeVectors(rowLimit, width);
      upTo(constant(0), whole, width, [&](Value i) {
        for (int64_t j = 0; j < count; ++j) {
          Value first = windowAddress(*dense, turned(at, i, constant(j)));
          storePlace(to, loadStrided(element, first, count, width), turned(at, constant(j), i));
        }
      });
      elements(at, whole);
      b_.setInsertionPointToStart(&isCount.getElseRegion().front());
      withColumns(count + 1);
    };
    withColumns(2);
  };
  if (outer.empty())
    fewColumns({}, 0);
  else
    nest(outer, 1, fewColumns, ArrayRef(ends).drop_back(2));
  b_.setInsertionPointToStart(&choice.getElseRegion().front());
  blocks();
  return success();
}

} // namespace tessera::cpu
