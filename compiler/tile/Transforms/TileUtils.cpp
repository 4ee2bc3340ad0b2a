#include "compiler/tile/Transforms/TileUtils.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tessera::tile {

bool isElementwise(Operation *op) {
  if (op->getNumResults() != 1) return false;
  if (isa<CastOp, MaskOp, RandOp>(op) || isFunction(op)) return true;
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         !isa<arith::ConstantOp>(op);
}

bool saturates(Operation *op) {
  if (!isElementwise(op) || isa<CastOp, arith::SelectOp, arith::BitcastOp>(op)) return false;
  auto result = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
  return result && result.getWidth() <= 8;
}

bool isCheap(Operation *op) { return isa<arith::ConstantOp, IotaOp, BroadcastOp, ExpandDimsOp>(op); }

bool alwaysInMemory(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op) return true; // carried by a loop
  if (op->getNumRegions()) return true;
  return isa<ReduceOp, ArgReduceOp, ScanOp, MmaOp, ConcatOp, AtomicOp, AtomicCasOp, ReshapeOp, TransposeOp>(
      op);
}

bool needsMemoryOperand(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto mma = dyn_cast<MmaOp>(op)) return use.get() != mma.getAcc();
  return isa<ScanOp, ReshapeOp>(op);
}

void addFallbacks(KernelOp kernel, const std::set<std::string> &lines) {
  if (lines.empty()) return;
  Builder b(kernel.getContext());
  SmallVector<Attribute> all;
  if (auto had = kernel.getFallbacksAttr()) llvm::append_range(all, had);
  for (const std::string &line : lines)
    if (Attribute text = b.getStringAttr(line); !llvm::is_contained(all, text)) all.push_back(text);
  kernel.setFallbacksAttr(b.getArrayAttr(all));
}

bool inMemory(Value v) {
  if (!isTile(v)) return false;
  Operation *op = v.getDefiningOp();
  return alwaysInMemory(v) || op->hasAttr(kMaterialize);
}

} // namespace tessera::tile
