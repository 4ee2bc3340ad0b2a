// Products of a transposed matrix and few columns. Transposing the matrix would take longer than the product,
// and its rows are contiguous: lanes are rows of the result, one column after the other.
//
// Each element adds the steps of k in order, so that the bits are those of the register block.
#include "plugins/cpu/codegen/Lowering.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::cpu {

/// Columns of A that are added to a column of C in one pass: the column is loaded and stored that much less
/// often.
constexpr int64_t kSteps = 4;

/// columns(a, the stride of its columns, b, its strides, c, rows, columns, depth)
func::FuncOp KernelLowering::columnsFunction(const Factor &a, const Factor &b, const Place &c) {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), index = b_.getIndexType();
  std::string name = "mma.columns." + elementName(a.element, a.cast) + "." + elementName(b.element, b.cast) +
                     "." + std::to_string(c.shape[0]) + "x" + std::to_string(c.shape[1]);
  return sharedFunction(name, {pointer, index, pointer, index, index, pointer, index, index, index},
                        [&](func::FuncOp f) {
                          f.setArgAttr(5, LLVM::LLVMDialect::getNoAliasAttrName(), b_.getUnitAttr());
                          auto in = f.getArguments();
                          Factor x{in[0], constant(1), in[1], a.element, a.cast, {}};
                          Factor y{in[2], in[3], in[4], b.element, b.cast, {}};
                          Place sum{in[5], c.shape, c.element};
                          emitColumns(x, y, sum, in[6], in[7], in[8]);
                        });
}

/// Gathers a column of C, adds several columns of A to all of it in each pass, and scatters it again.
void KernelLowering::emitColumns(const Factor &a, const Factor &b, const Place &c, Value rows, Value columns,
                                 Value depth) {
  int64_t lanes = vectorBytes_ / (c.element.getIntOrFloatBitWidth() / 8);
  Value zero = constant(0), wholeDepth = roundDown(depth, kSteps), wholeRows = roundDown(rows, lanes);
  Value count =
      LLVM::ConstantOp::create(b_, b_.getI64Type(), b_.getI64IntegerAttr(llvm::alignTo(c.shape[0], lanes)));
  Value column = LLVM::AllocaOp::create(b_, c.data.getType(), c.element, count, vectorBytes_);
  auto plus = [&](Value x, Value y) { return b_.createOrFold<arith::AddIOp>(x, y); };
  auto times = [&](Value x, Value y) { return b_.createOrFold<arith::MulIOp>(x, y); };
  upTo(zero, columns, 1, [&](Value j) {
    auto copy = [&](bool isBack) {
      upTo(zero, rows, 1, [&](Value i) {
        Value inC = address(c.data, plus(times(i, constant(c.shape[1])), j), c.element);
        Value here = address(column, i, c.element);
        store(c.element, load(c.element, isBack ? here : inC, 0), isBack ? inC : here);
      });
    };
    auto steps = [&](Value k, int64_t turns) {
      Vec<Value> xs, starts;
      for (int64_t u = 0; u < turns; ++u) {
        Value at = u ? plus(k, constant(u)) : k;
        Value element = readFactor(b, plus(times(at, b.rowStride), times(j, b.columnStride)), 0);
        xs.push_back(splat(element, lanes));
        starts.push_back(times(at, a.columnStride));
      }
      auto add = [&](Value i, Value mask) {
        Value place = address(column, i, c.element), sum = load(c.element, place, lanes);
        for (auto [x, start] : llvm::zip(xs, starts))
          sum = multiplyAdd(readFactor(a, plus(start, i), lanes, mask), x, sum);
        store(c.element, sum, place); // also stores past the rows; nothing reads those elements
      };
      upTo(zero, wholeRows, lanes, [&](Value i) { add(i, {}); });
      upTo(wholeRows, rows, lanes, [&](Value i) { add(i, rangeMask(i, {}, rows, lanes)); });
    };
    copy(/*isBack=*/false);
    upTo(zero, wholeDepth, kSteps, [&](Value k) { steps(k, kSteps); });
    upTo(wholeDepth, depth, 1, [&](Value k) { steps(k, 1); });
    copy(/*isBack=*/true);
  });
}

} // namespace tessera::cpu
