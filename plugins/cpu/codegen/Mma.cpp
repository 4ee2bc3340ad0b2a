// Matrix products of tiles in scratch: a register block of C per micro-kernel, in the shape that `tile-vectorize` chose.
//
// C[m x n] += A[m x K] * B[K x n]: the rows of A are read one element at a time and broadcast, a row of B as n/lanes
// vectors, so that every step of k is m * n/lanes independent FMAs on accumulators that stay in registers for the
// whole of K. Columns outermost: a panel of B is reused by all rows while it is in the near cache.
#include "plugins/cpu/codegen/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::cpu {

namespace {
bool isZero(Value v) {
  if (auto broadcast = v.getDefiningOp<tile::BroadcastOp>())
    return isZero(broadcast.getInput());
  return matchPattern(v, m_AnyZeroFloat()) || matchPattern(v, m_Zero());
}
} // namespace

LogicalResult KernelLowering::lowerMma(tile::MmaOp op) {
  Place a = place(op.getA()), b = place(op.getB()), c = place(op.getResult());
  Type element = c.element;
  if (a.element != element || b.element != element || !(element.isF32() || element.isF64() || element.isInteger(32)))
    return op.emitOpError() << "of " << a.element << " into " << element << " is not implemented on cpu (TSR_UNIMPLEMENTED)";
  int64_t rows = c.shape[0], columns = c.shape[1];
  int64_t m = op.getFragment()->getM(), n = op.getFragment()->getN();
  int64_t lanes = vectorBytes_ / (element.getIntOrFloatBitWidth() / 8);
  bool fresh = isZero(op.getAcc());
  if (!fresh)
    assign(op.getAcc(), c); // nothing to do when the planner put both in one place

  auto panel = [&](Value column, ArrayRef<int64_t> groups) {
    int64_t whole = rows / m * m;
    loop(0, whole, m, [&](Value row) { microKernel(a, b, c, row, column, m, groups, fresh); });
    if (rows != whole)
      microKernel(a, b, c, constant(whole), column, rows - whole, groups, fresh);
  };
  int64_t whole = columns / n * n;
  loop(0, whole, n, [&](Value column) { panel(column, Vec<int64_t>(n / lanes, lanes)); });
  if (columns != whole) {
    Vec<int64_t> groups;
    for (int64_t left = columns - whole; left;) {
      int64_t width = std::min<int64_t>(lanes, llvm::bit_floor(static_cast<uint64_t>(left)));
      groups.push_back(width);
      left -= width;
    }
    panel(constant(whole), groups);
  }
  return success();
}

void KernelLowering::microKernel(const Place &a, const Place &b, const Place &c, Value row, Value column, int64_t rows,
                                 ArrayRef<int64_t> groups, bool fresh) {
  int64_t depth = a.shape[1];
  // Vectors of 32 bytes and more come with FMA (parseTarget); without it, it would be a library call per element.
  bool fused = vectorBytes_ >= 32;
  auto plus = [&](Value x, int64_t d) { return d ? arith::AddIOp::create(b_, x, constant(d)).getResult() : x; };
  Vec<int64_t> offsets;
  for (int64_t at = 0; int64_t width : groups) {
    offsets.push_back(at);
    at += width;
  }
  Vec<Value> accs;
  for (int64_t r = 0; r < rows; ++r)
    for (auto [offset, width] : llvm::zip(offsets, groups))
      accs.push_back(fresh ? zeroOf(VectorType::get({width}, c.element))
                           : loadPlace(c, {plus(row, r), plus(column, offset)}, width));

  auto step = [&](Value k, Vec<Value> &acc) {
    Vec<Value> line;
    for (auto [offset, width] : llvm::zip(offsets, groups))
      line.push_back(loadPlace(b, {k, plus(column, offset)}, width));
    for (int64_t r = 0; r < rows; ++r) {
      Value x = load(a.element, placeAddress(a, {plus(row, r), k}), 0);
      for (size_t g = 0; g < groups.size(); ++g) {
        Value &sum = acc[r * groups.size() + g];
        Value wide = splat(x, groups[g]);
        if (isa<FloatType>(c.element) && fused)
          sum = math::FmaOp::create(b_, wide, line[g], sum);
        else if (isa<FloatType>(c.element))
          sum = arith::AddFOp::create(b_, sum, arith::MulFOp::create(b_, wide, line[g]));
        else
          sum = arith::AddIOp::create(b_, sum, arith::MulIOp::create(b_, wide, line[g]));
      }
    }
  };
  int64_t unroll = depth % 4 == 0 ? 4 : depth % 2 == 0 ? 2 : 1;
  auto loopOp = scf::ForOp::create(b_, constant(0), constant(depth), constant(unroll), accs);
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loopOp.getBody());
    Vec<Value> acc(loopOp.getRegionIterArgs());
    for (int64_t u = 0; u < unroll; ++u)
      step(plus(loopOp.getInductionVar(), u), acc);
    scf::YieldOp::create(b_, acc);
  }
  for (int64_t r = 0, i = 0; r < rows; ++r)
    for (int64_t offset : offsets)
      storePlace(c, loopOp.getResult(i++), {plus(row, r), plus(column, offset)});
}

} // namespace tessera::cpu
