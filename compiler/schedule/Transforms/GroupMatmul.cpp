// A matrix product and its epilogue: the accumulator stays in the program until it is stored.
#include "compiler/schedule/Transforms/FixedOrders.h"
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/schedule/Transforms/TreeJoin.h"
#include "compiler/tile/IR/Product.h"
#include "numerics/NumericsProfile.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;

/// Loads a tile [M, `steps`] of a or [`steps`, N] of b, transposed as in memory. Batch axes broadcast.
TypedValue GroupProgram::matmulOperand(OpOperand &operand, bool transposed, bool isLeft, const TypedValue &k,
                                       int64_t steps) {
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
    ints.push_back(isContraction ? steps : tileExtent(isLeft ? rows_ : columns_));
  }
  return b_.load(params_[operand.get()], starts, ints);
}

/// "add", "gelu", "select"; empty for what only changes a dtype or a shape.
static StringRef nameInEpilogue(Operation *op) {
  if (auto unary = dyn_cast<graph::UnaryOp>(op)) return graph::stringifyUnaryKind(unary.getKind());
  if (auto binary = dyn_cast<graph::BinaryOp>(op)) return graph::stringifyBinaryKind(binary.getKind());
  return isa<graph::SelectOp>(op) ? op->getName().stripDialect() : StringRef();
}

/// The order of `fixed_reductions`: leaves of steps of k, each a chain from 0 on, are joined as a tree.
TypedValue GroupProgram::leaves(const TypedValue &depth, std::optional<int64_t> known, const TypedValue &zero,
                                MultiplyFn multiply) {
  const TypedValue leaf = b_.integer(kReductionLeaf);
  const TypedValue count =
      b_.binary(BinaryKind::FloorDiv, b_.add(depth, b_.integer(kReductionLeaf - 1)), leaf);
  // Tiles of k that divide a leaf. They are shorter than those of the group if these do not.
  const auto step = static_cast<int64_t>(
      llvm::bit_floor(static_cast<uint64_t>(std::min(group_.getTile()[2], kReductionLeaf))));
  auto join = [&](const GroupBuilder::Values &left, const GroupBuilder::Values &right) {
    return GroupBuilder::Values{b_.add(left[0], right[0])};
  };
  TreeJoin tree(b_, {zero}, nodesOf(known, kReductionLeaf));
  b_.loop(count, 1, {}, 0, [&](const TypedValue &index, const GroupBuilder::Values &none) {
    const TypedValue first = b_.mul(index, leaf);
    TypedValue sum = zero;
    if (step == kReductionLeaf) {
      sum = multiply(first, step, sum);
    } else {
      TypedValue end = b_.binary(BinaryKind::Minimum, b_.sub(depth, first), leaf);
      sum = b_.loop(end, step, {zero}, group_.getStages().value_or(0),
                    [&](const TypedValue &k, const GroupBuilder::Values &chain) -> GroupBuilder::Values {
                      return {multiply(b_.add(first, k), step, chain[0])};
                    })[0];
    }
    tree.push(index, {sum}, join);
    return none;
  });
  return tree.joined(count, join)[0];
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
  auto multiply = [&](const TypedValue &k, int64_t steps, const TypedValue &sum) {
    TypedValue lhs = matmulOperand(op->getOpOperand(0), op.getTransA(), true, k, steps);
    TypedValue rhs = matmulOperand(op->getOpOperand(1), op.getTransB(), false, k, steps);
    return b_.mma(lhs, rhs, sum, op.getTransA(), op.getTransB());
  };
  const TypedValue zero = b_.full(0, accumulate, shape);
  const std::optional<int64_t> depth = staticExtent(a.getDims()[a.getRank() - (op.getTransA() ? 2 : 1)]);
  TypedValue product;
  const bool hasLeaves = schedule::hasLeaves(op) && depth.value_or(INT64_MAX) > kReductionLeaf;
  const bool isForBody =
      llvm::is_contained(bodies_, dtype) && shape[0] * shape[1] <= tile::kMostProductElements;
  if (hasLeaves && !isForBody) {
    product = leaves(contracted, depth, zero, multiply);
  } else {
    auto step = [&](const TypedValue &k, const GroupBuilder::Values &sum) -> GroupBuilder::Values {
      TypedValue next = multiply(k, group_.getTile()[2], sum[0]);
      if (hasLeaves)
        next.value.getDefiningOp()->setAttr(tile::kLeaf, builder_.getI64IntegerAttr(kReductionLeaf));
      return {next};
    };
    product = b_.loop(contracted, group_.getTile()[2], {zero}, group_.getStages().value_or(0), step)[0];
  }
  varyingValues_[op.getResult()] = b_.cast(product, dtypeOf(op.getType()));
  storeAll();
}

} // namespace tessera::schedule
