// A matrix product and its epilogue: the accumulator stays in the program until it is stored.
#include "compiler/schedule/Transforms/GroupProgram.h"

using namespace mlir;

namespace tessera::schedule {

/// Loads a tile [M, K] of a or [K, N] of b, transposed as in memory. Batch axes broadcast.
TypedValue GroupProgram::matmulOperand(OpOperand &operand, bool transposed, bool isLeft,
                                       const TypedValue &k) {
  auto type = cast<Tensor>(operand.get().getType());
  int64_t rank = type.getRank(), outer = space_.space().getRank();
  GroupBuilder::Starts starts;
  std::vector<int64_t> ints;
  for (int64_t d = 0; d < rank - 2; ++d) {
    starts.push_back(type.isOne(d) ? b_.integer(0) : start(outer - rank + d));
    ints.push_back(-1);
  }
  for (int64_t d = 0; d < 2; ++d) {
    bool isContraction = (d == 1) == (isLeft != transposed);
    starts.push_back(isContraction ? k : start(isLeft ? rows_ : columns_));
    ints.push_back(isContraction ? group_.getTile()[2] : tileExtent(isLeft ? rows_ : columns_));
  }
  return b_.load(params_[operand.get()], starts, ints);
}

/// "add", "gelu", "select"; empty for what only changes a dtype or a shape.
static StringRef nameInEpilogue(Operation *op) {
  if (auto unary = dyn_cast<graph::UnaryOp>(op)) return graph::stringifyUnaryKind(unary.getKind());
  if (auto binary = dyn_cast<graph::BinaryOp>(op)) return graph::stringifyBinaryKind(binary.getKind());
  return isa<graph::SelectOp>(op) ? op->getName().stripDialect() : StringRef();
}

void GroupProgram::buildMatmul() {
  graph::MatmulOp op;
  SmallVector<StringRef> epilogue;
  llvm::SmallPtrSet<Value, 8> computed; // from the product
  for (Operation &candidate : group_.getBody().front()) {
    if (auto matmul = dyn_cast<graph::MatmulOp>(candidate)) op = matmul;
    const bool follows = llvm::any_of(candidate.getOperands(), [&](Value v) { return computed.contains(v); });
    if (follows || isa<graph::MatmulOp>(candidate))
      computed.insert(candidate.result_begin(), candidate.result_end());
    if (StringRef name = nameInEpilogue(&candidate); follows && !name.empty()) epilogue.push_back(name);
  }
  if (!epilogue.empty()) frame_.kernel().setEpilogueAttr(builder_.getStrArrayAttr(epilogue));
  DType dtype = dtypeOf(op.getA().getType());
  DType accumulate = isFloat(dtype)        ? (dtype == DType::F64 ? DType::F64 : DType::F32)
                     : dtype == DType::I64 ? DType::I64
                                           : DType::I32;
  b_.at(op.getLoc());
  Shape shape = {tileExtent(rows_), tileExtent(columns_)};
  Tensor a = op.getA().getType();
  TypedValue contracted = extent(a.getDims()[a.getRank() - (op.getTransA() ? 2 : 1)]);
  auto step = [&](const TypedValue &k, const GroupBuilder::Values &sum) -> GroupBuilder::Values {
    TypedValue lhs = matmulOperand(op->getOpOperand(0), op.getTransA(), true, k);
    TypedValue rhs = matmulOperand(op->getOpOperand(1), op.getTransB(), false, k);
    return {b_.mma(lhs, rhs, sum[0], op.getTransA(), op.getTransB())};
  };
  TypedValue product = b_.loop(contracted, group_.getTile()[2], {b_.full(0, accumulate, shape)},
                               group_.getStages().value_or(0), step)[0];
  varyingValues_[op.getResult()] = b_.cast(product, dtypeOf(op.getType()));
  storeAll();
}

} // namespace tessera::schedule
