// Matrix products of tiles in memory, by multiply-adds: each thread keeps a register block of C for the whole
// depth, in the shape that tile-vectorize chose.
//
// The threads of a row of blocks have adjacent columns, so that a step of k reads B, and the end writes C,
// contiguously, and all of the threads read the same element of A.
#include "compiler/codegen/gpu/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::gpu {

LogicalResult KernelLowering::lowerMma(tile::MmaOp op) {
  if (!op.getFragment()) return op.emitOpError("has no fragment: run tile-vectorize first");
  if (const auto row = op.getFragment()->getRow())
    return row->hasTensorMemory() ? lowerTensorProduct(op, *row)
           : row->readsShared()   ? lowerWarpgroupProduct(op, *row)
                                  : lowerProduct(op, *row);
  Place a = place(op.getA()), b = place(op.getB()), c = place(op.getResult());
  Type element = c.element;
  if (a.element != element || b.element != element ||
      !(element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64)))
    return op.emitOpError() << "of " << a.element << " into " << element << " is not implemented on "
                            << backend_ << " (TSR_UNIMPLEMENTED)";
  int64_t rows = c.shape[0], columns = c.shape[1], m = op.getFragment()->getM(), n = op.getFragment()->getN();
  if (rows % m || columns % n)
    return op.emitOpError() << "has a fragment that does not divide its tile: " << m << "x" << n << " of "
                            << rows << "x" << columns;
  Value depth = constant(a.shape[1]);
  if (!op.getLimits().empty()) depth = arith::MinSIOp::create(b_, depth, scalar(op.getLimits()[2]));
  int64_t stride = columns / n; // between the columns of a block
  auto plus = [&](Value x, int64_t d) {
    return d ? arith::AddIOp::create(b_, x, constant(d)).getResult() : x;
  };
  bool fresh = target::isZeroTile(op.getAcc());
  versioned(insideCondition(ValueRange(op.getAcc())), [&](Mode mode) {
    nest({rows / m, stride}, 0, [&](Indices block, int64_t) {
      Value row = arith::MulIOp::create(b_, block[0], constant(m)), column = block[1];
      auto forEach = [&](llvm::function_ref<void(int64_t, Indices)> body) {
        for (int64_t i = 0; i < m * n; ++i)
          body(i, {plus(row, i / n), plus(column, i % n * stride)});
      };
      Vec<Value> sums;
      forEach([&](int64_t, Indices at) {
        sums.push_back(fresh ? zeroOf(element) : evaluate(op.getAcc(), at, 0, mode));
      });
      auto loop = scf::ForOp::create(b_, constant(0), depth, constant(1), sums);
      {
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(loop.getBody());
        Value k = loop.getInductionVar();
        Vec<Value> left, right, next;
        for (int64_t r = 0; r < m; ++r)
          left.push_back(loadPlace(a, {plus(row, r), k}, 0));
        for (int64_t j = 0; j < n; ++j)
          right.push_back(loadPlace(b, {k, plus(column, j * stride)}, 0));
        for (int64_t i = 0; i < m * n; ++i) {
          Value x = left[i / n], y = right[i % n], sum = loop.getRegionIterArg(i);
          if (isa<FloatType>(element))
            next.push_back(math::FmaOp::create(b_, x, y, sum));
          else
            next.push_back(arith::AddIOp::create(b_, sum, arith::MulIOp::create(b_, x, y)));
        }
        scf::YieldOp::create(b_, next);
      }
      forEach([&](int64_t i, Indices at) {
        if (op.getLimits().empty()) return storePlace(c, loop.getResult(i), at);
        // Zeros past an operand's end times infinities would be NaNs, so those elements keep the
        // accumulator's value.
        Value inRow = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, at[0], scalar(op.getLimits()[0]));
        Value inColumn =
            arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, at[1], scalar(op.getLimits()[1]));
        auto branch = scf::IfOp::create(b_, TypeRange(), arith::AndIOp::create(b_, inRow, inColumn), true);
        OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPointToStart(&branch.getThenRegion().front());
        storePlace(c, loop.getResult(i), at);
        b_.setInsertionPointToStart(&branch.getElseRegion().front());
        storePlace(c, evaluate(op.getAcc(), at, 0, mode), at);
      });
    });
  });
  return success();
}

} // namespace tessera::gpu
