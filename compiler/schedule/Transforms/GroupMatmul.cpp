// A matrix product and its epilogue: the accumulator stays in the program until it is stored.
#include "compiler/schedule/Transforms/GroupProgram.h"

using namespace mlir;

namespace tessera::schedule {

/// A tile [M, K] of a or [K, N] of b; transposed as it lies in memory. Batch axes broadcast.
ExprPtr GroupProgram::matmulOperand(OpOperand &operand, bool transposed, bool isLeft, SymbolId k) {
  auto type = cast<Tensor>(operand.get().getType());
  int64_t rank = type.getRank(), outer = space_.space().getRank();
  std::vector<ExprPtr> starts;
  std::vector<int64_t> ints;
  for (int64_t d = 0; d < rank - 2; ++d) {
    starts.push_back(type.isOne(d) ? b_.integer(0) : start(outer - rank + d));
    ints.push_back(-1);
  }
  for (int64_t d = 0; d < 2; ++d) {
    bool isContraction = (d == 1) == (isLeft != transposed);
    starts.push_back(isContraction ? b_.var(k) : start(isLeft ? rows_ : columns_));
    ints.push_back(isContraction ? group_.getTile()[2] : tileExtent(isLeft ? rows_ : columns_));
  }
  return b_.load(params_[operand.get()], std::move(starts), std::move(ints));
}

void GroupProgram::buildMatmul() {
  graph::MatmulOp op;
  for (Operation &candidate : group_.getBody().front())
    if (auto matmul = dyn_cast<graph::MatmulOp>(candidate)) op = matmul;
  DType dtype = dtypeOf(op.getA().getType());
  DType accumulate = isFloat(dtype)        ? (dtype == DType::F64 ? DType::F64 : DType::F32)
                     : dtype == DType::I64 ? DType::I64
                                           : DType::I32;
  b_.at(op.getLoc());
  Shape shape = {tileExtent(rows_), tileExtent(columns_)};
  SymbolId acc = b_.assign("acc", b_.full(0, accumulate, shape));
  SymbolId k = b_.symbol("k", ProgramBuilder::scalar(DType::I64));
  frontend::Block body;
  frontend::Block *outer = b_.into(&body);
  ExprPtr product = b_.make(Op::Mma, ProgramBuilder::tile(accumulate, shape),
                            matmulOperand(op->getOpOperand(0), op.getTransA(), true, k),
                            matmulOperand(op->getOpOperand(1), op.getTransB(), false, k), b_.var(acc));
  product->ints = {op.getTransA(), op.getTransB()};
  b_.rebind(acc, std::move(product));
  b_.into(outer);
  Tensor a = op.getA().getType();
  Attribute contracted = a.getDims()[a.getRank() - (op.getTransA() ? 2 : 1)];
  b_.loop(k, b_.integer(0), extent(contracted), group_.getTile()[2], {acc}, group_.getStages().value_or(0),
          std::move(body));
  varyingValues_[op.getResult()] = b_.assign("product", b_.cast(b_.var(acc), dtypeOf(op.getType())));
  storeAll();
}

} // namespace tessera::schedule
