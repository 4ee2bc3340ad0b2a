// tile-assign-row-layouts (normative phase 3): spreads the rows of kernels without a product over registers.
//
//   %x = tile.load %X[...]                 ->   %r = tile.load %X[...] : tensor<.., #rows>
//   %m = tile.reduce max %x axis 1              %x = tile.convert %r : tensor<.., #rows> -> tensor<..>
//                                               %m = tile.reduce max %x axis 1
//
// It runs before tile-keep-in-registers, which moves the conversions to memory down until none is left. That
// is certain only if every tile operation of the kernel works in registers, so other kernels are not changed.
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera {
#define GEN_PASS_DEF_TILEASSIGNROWLAYOUTS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// Of the tile's elements in a lane, in words of 32 bits. A kernel has several such tiles at once.
constexpr int64_t kMostWords = 64;
constexpr int64_t kBytes = 16; // of the widest access

class AssignRowLayouts : public impl::TileAssignRowLayoutsBase<AssignRowLayouts> {
public:
  using impl::TileAssignRowLayoutsBase<AssignRowLayouts>::TileAssignRowLayoutsBase;

private:
  void runOnOperation() override {
    // The layout would decide the order of sums.
    if (permitsOf(getOperation()).value_or(NumericsPermissions()).fixedReductions) return;
    const int64_t threads = getOperation().getThreads().value_or(warps * lanes);
    if (!threads || !llvm::isPowerOf2_64(uint64_t(threads / lanes)) || threads % lanes) return;
    std::optional<ArrayRef<int64_t>> shape = rowsOf(getOperation());
    if (!shape) return;
    SmallVector<LoadOp> loads;
    int64_t narrowest = kBytes, widest = 1;
    getOperation()->walk([&](Operation *op) {
      for (Value v : op->getResults()) {
        if (!isTile(v) || tileType(v).getShape() != *shape) continue;
        Type element = tileType(v).getElementType();
        if (!element.isIntOrFloat() || element.isInteger(1)) continue;
        const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
        widest = std::max(widest, bytes);
        if (auto load = dyn_cast<LoadOp>(op)) {
          narrowest = std::min(narrowest, bytes);
          loads.push_back(load);
        }
      }
    });
    const int64_t ofThread = ShapedType::getNumElements(*shape) / threads;
    const int64_t vector =
        std::min<int64_t>(kBytes / narrowest, llvm::bit_floor(uint64_t(std::max<int64_t>(ofThread, 1))));
    const layout::TileLayout rows = layout::blocked(*shape, vector, lanes, threads / lanes);
    if (rows.registers() * threads != ShapedType::getNumElements(*shape)) return; // threads hold copies
    if (rows.registers() * widest > kMostWords * 4) {
      addFallbacks(
          getOperation(),
          {llvm::formatv("{0}: tiles of {1}x{2} are not kept in registers, because a thread of {3} would "
                         "have {4} elements of {5} bytes",
                         backend, (*shape)[0], (*shape)[1], threads, rows.registers(), widest)});
      return;
    }
    auto layout = LayoutAttr::get(&getContext(), rows);
    for (LoadOp load : loads) {
      Type memory = load.getType();
      OpBuilder b(&getContext());
      b.setInsertionPointAfter(load);
      load.getResult().setType(
          RankedTensorType::get(*shape, tileType(load.getResult()).getElementType(), layout));
      auto exit = ConvertOp::create(b, load.getLoc(), memory, load.getResult());
      load.getResult().replaceAllUsesExcept(exit, exit);
    }
  }

  /// Returns the shape of the tiles that are reduced along rows, if it is one and everything works in
  /// registers.
  static std::optional<ArrayRef<int64_t>> rowsOf(KernelOp kernel) {
    std::optional<ArrayRef<int64_t>> shape;
    auto visit = [&](Operation *op) {
      auto reduce = dyn_cast<ReduceOp>(op);
      if (!reduce) return worksInRegisters(op) ? WalkResult::advance() : WalkResult::interrupt();
      auto type = tileType(reduce.getInput());
      if (reduce.getOrder() || type.getRank() != 2 || reduce.getAxis() != 1 || !isTile(reduce.getResult()) ||
          (shape && *shape != type.getShape()))
        return WalkResult::interrupt();
      shape = type.getShape();
      return WalkResult::advance();
    };
    return kernel->walk(visit).wasInterrupted() ? std::nullopt : shape;
  }

  static bool worksInRegisters(Operation *op) {
    auto isPlain = [](Type type) { return !isTile(type) || !cast<RankedTensorType>(type).getEncoding(); };
    auto isTileType = [](Type type) { return isTile(type); };
    if (!llvm::all_of(op->getResultTypes(), isPlain)) return false; // it has layouts
    if (llvm::none_of(op->getOperandTypes(), isTileType) && llvm::none_of(op->getResultTypes(), isTileType))
      return true;
    if (isa<arith::ConstantOp>(op)) return matchPattern(op, m_Constant<SplatElementsAttr>(nullptr));
    if (isa<scf::ForOp>(op)) return !op->hasAttr(kLanes);
    if (isElementwise(op)) return !isa<RandOp>(op) && !getElementTypeOrSelf(op->getResult(0)).isIndex();
    return isa<LoadOp, StoreOp, BroadcastOp, ExpandDimsOp, IotaOp, scf::IfOp, scf::YieldOp>(op);
  }
};

} // namespace
} // namespace tessera
