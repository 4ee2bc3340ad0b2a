// Where the results of operations go as loops and branches carry them.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::tile {

/// Returns the values that a loop or branch makes of the operand, unchanged; none if the use is another one.
inline llvm::SmallVector<mlir::Value, 2> carriedBy(mlir::OpOperand &use) {
  using namespace mlir;
  Operation *user = use.getOwner();
  unsigned at = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(user); loop && at >= loop.getNumControlOperands()) {
    at -= loop.getNumControlOperands();
    return {loop.getResult(at), loop.getRegionIterArg(at)};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(user)) return {loop.getBeforeArguments()[at]};
  if (isa<scf::ConditionOp>(user) && at > 0) {
    auto loop = cast<scf::WhileOp>(user->getParentOp());
    return {loop.getResult(at - 1), loop.getAfterArguments()[at - 1]};
  }
  if (!isa<scf::YieldOp>(user)) return {};
  Operation *owner = user->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(owner)) return {loop.getResult(at), loop.getRegionIterArg(at)};
  if (auto loop = dyn_cast<scf::WhileOp>(owner)) return {loop.getBeforeArguments()[at]};
  return {owner->getResult(at)};
}

/// Returns the results of the kernel's operations that are `sources`, and all values that loops and branches
/// make of them.
inline llvm::SetVector<mlir::Value> carriedFrom(KernelOp kernel,
                                                llvm::function_ref<bool(mlir::Operation *)> isSource) {
  using namespace mlir;
  llvm::SetVector<Value> found;
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isSource(op)) found.insert(op->getResult(0));
  });
  for (size_t i = 0; i < found.size(); ++i) // grows
    for (OpOperand &use : found[i].getUses())
      found.insert_range(carriedBy(use));
  return found;
}

/// Replaces the uses of each of `values` that `where` selects by what `rewrite` makes of it, once for each
/// value.
inline void rewriteUses(const llvm::SetVector<mlir::Value> &values,
                        llvm::function_ref<bool(mlir::OpOperand &)> where,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> rewrite) {
  using namespace mlir;
  for (Value v : values) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : v.getUses())
      if (carriedBy(use).empty() && where(use)) uses.push_back(&use);
    if (uses.empty()) continue;
    OpBuilder b(v.getContext());
    b.setInsertionPointAfterValue(v);
    Value rewritten = rewrite(b, v);
    for (OpOperand *use : uses)
      use->set(rewritten);
  }
}

} // namespace tessera::tile
