// tile-keep-in-registers (normative phase 3): what is computed of a product, or of rows, stays in registers.
//
//   %p = tile.mma ... : tensor<.., #c>                %p = tile.mma ... : tensor<.., #c>
//   %m = tile.convert %p -> tensor<..>         ->     %x = arith.mulf %p, %k : tensor<.., #c>
//   %x = arith.mulf %m, %k                            tile.store %x, %o[...]
//   tile.store %x, %o[...]
//
// A conversion to memory sinks below each use that can work in registers: elementwise operations, reductions
// along rows, stores, the variables of loops and branches, and the left factor of a product, whose layout is
// that of the sums. Their other operands are computed in the same layout: constants, loads, broadcasts.
// Stores of which the lanes of a warp would fill parts of sectors get a layout with wider rows. It runs right
// after the layouts of products and rows have been chosen.
#include "compiler/layout/Conversion.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/Passes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <deque>

namespace tessera {
#define GEN_PASS_DEF_TILEKEEPINREGISTERS
#include "compiler/tile/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::tile;

namespace {

RankedTensorType withLayout(Value v, LayoutAttr layout) {
  auto type = tileType(v);
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

bool isPlain(Value v) { return isTile(v) && !tileType(v).getEncoding(); }

/// A conversion from registers to memory.
bool isExit(ConvertOp op) { return op && layoutOf(op.getInput()) && isPlain(op.getResult()); }

bool computesElements(Operation *op) {
  return isElementwise(op) && !isa<RandOp>(op) && isPlain(op->getResult(0)) &&
         !getElementTypeOrSelf(op->getResult(0)).isIndex();
}

class KeepInRegisters : public impl::TileKeepInRegistersBase<KeepInRegisters> {
public:
  using impl::TileKeepInRegistersBase<KeepInRegisters>::TileKeepInRegistersBase;

private:
  std::deque<ConvertOp> exits_;

  void runOnOperation() override {
    exits_.clear();
    getOperation()->walk([&](ConvertOp op) {
      if (isExit(op)) exits_.push_back(op);
    });
    while (!exits_.empty()) {
      ConvertOp exit = exits_.front();
      exits_.pop_front();
      for (OpOperand *use : llvm::to_vector(llvm::make_pointer_range(exit->getUses())))
        if (use->get() == exit.getResult()) sink(*use, exit);
    }
    SmallVector<Operation *> tiles;
    getOperation()->walk([&](Operation *op) {
      if (isTileOp(op) && isMemoryEffectFree(op) && !op->getNumRegions()) tiles.push_back(op);
    });
    for (Operation *op : llvm::reverse(tiles))
      if (op->use_empty()) op->erase();
  }

  static bool isTileOp(Operation *op) { return op->getNumResults() == 1 && isTile(op->getResult(0)); }

  /// The uses of `v`, which is in registers, outside of `except` see it in memory.
  void exitAfter(Value v, Type memory, Operation *except = nullptr) {
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(v);
    if (llvm::all_of(v.getUsers(), [&](Operation *user) { return user == except; })) return;
    auto exit = ConvertOp::create(b, v.getLoc(), memory, v);
    v.replaceUsesWithIf(exit,
                        [&](OpOperand &use) { return use.getOwner() != exit && use.getOwner() != except; });
    exits_.push_back(exit);
  }

  void retype(Value v, LayoutAttr layout) {
    Type memory = v.getType();
    v.setType(withLayout(v, layout));
    exitAfter(v, memory);
  }

  void sink(OpOperand &use, ConvertOp exit) {
    Operation *op = use.getOwner();
    LayoutAttr layout = layoutOf(exit.getInput());
    if (auto entry = dyn_cast<ConvertOp>(op)) {
      if (entry.getResult().getType() == exit.getInput().getType())
        entry.getResult().replaceAllUsesWith(exit.getInput());
    } else if (isa<scf::YieldOp>(op)) {
      sinkYield(use, layout);
    } else if (auto mma = dyn_cast<MmaOp>(op)) {
      if (isFactorInRegisters(use, mma, layout)) use.set(exit.getInput());
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (!canReduce(reduce)) return;
      use.set(exit.getInput());
      retype(reduce.getResult(),
             LayoutAttr::get(&getContext(), layout::withoutAxis(layout.getValue(), reduce.getAxis())));
    } else if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
      use.set(exit.getInput());
      retype(expand.getResult(),
             LayoutAttr::get(&getContext(), layout::withUnitAxis(layout.getValue(), expand.getAxis())));
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      store.getValueMutable().assign(inLayout(store.getValue(), layout));
      if (shuffles) layout = storeWideRows(store, layout);
      if (store.getFlags()) store.getFlagsMutable().assign(inLayout(store.getFlags(), layout));
    } else if (auto add = dyn_cast<arith::AddFOp>(op); add && addToSum(add, use, exit)) {
      return;
    } else if (computesElements(op)) {
      compute(op, layout);
    }
  }

  /// Can the tile be computed in each layout in which lanes hold the same rows: of values of rows, constants
  /// and positions?
  static bool dependsOnRows(Value v, int depth = 12) {
    if (!isTile(v)) return true;
    Operation *op = v.getDefiningOp();
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op))
      if (isTile(broadcast.getInput()) && tileType(broadcast.getInput()).getShape().back() == 1) return true;
    if (!op || !depth || !isPlain(v)) return false;
    if (!isa<arith::ConstantOp, IotaOp, BroadcastOp, ExpandDimsOp>(op) && !computesElements(op)) return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return dependsOnRows(operand, depth - 1); });
  }

  /// Is the tile computed from elements that are loaded for it?
  static bool dependsOnLoads(Value v) {
    Operation *op = v.getDefiningOp();
    return isTile(v) && op &&
           (isa<LoadOp>(op) || (isElementwise(op) && llvm::any_of(op->getOperands(), dependsOnLoads)));
  }

  /// The lanes of a warp exchange elements before a store that would write parts of sectors. Returns the
  /// layout of what is stored.
  LayoutAttr storeWideRows(StoreOp store, LayoutAttr layout) {
    auto view = cast<ViewType>(store.getView().getType());
    const std::optional<DType> dtype = dtypeOfMemory(view.getElementType());
    if (!dtype || info(*dtype).bits < 8 || tileType(store.getValue()).getRank() < 2) return layout;
    if (store.getFlags() && !dependsOnRows(store.getFlags())) return layout;
    // Many registers beside those that are loaded would be spilled. Such a tile is computed and stored in
    // parts.
    if (layout.getValue().registers() > kSumsOfTwoBlocks && dependsOnLoads(store.getValue())) return layout;
    const auto bytes = unsigned(info(*dtype).storageBytes);
    const std::optional<layout::TileLayout> wide = layout::wideRows(layout.getValue(), bytes);
    if (!wide || !std::holds_alternative<layout::LaneExchange>(
                     layout::planConversion(layout.getValue(), *wide, bytes)))
      return layout;
    OpBuilder b(store);
    auto stored = LayoutAttr::get(&getContext(), *wide);
    Type type = withLayout(store.getValue(), stored);
    store.getValueMutable().assign(ConvertOp::create(b, store.getLoc(), type, store.getValue()));
    return stored;
  }

  /// x + a * b becomes a product whose sums begin with x.
  bool addToSum(arith::AddFOp add, OpOperand &use, ConvertOp exit) {
    auto mma = exit.getInput().getDefiningOp<MmaOp>();
    if (!mma || !mma->hasOneUse() || !exit->hasOneUse() || mma->getBlock() != add->getBlock()) return false;
    auto begin = mma.getAcc().getDefiningOp<ConvertOp>();
    if (!begin || !matchPattern(begin.getInput(), m_AnyZeroFloat()) || !isPlain(add.getResult()))
      return false;
    for (Operation *op = mma->getNextNode(); op != add; op = op->getNextNode())
      if (!isMemoryEffectFree(op)) return false;
    Value other = add->getOperand(1 - use.getOperandNumber());
    mma->moveBefore(add);
    mma.getAccMutable().assign(inLayout(other, layoutOf(mma.getResult())));
    exit->moveAfter(mma);
    add.getResult().replaceAllUsesWith(exit.getResult());
    add->erase();
    exits_.push_back(exit);
    return true;
  }

  /// Elementwise: all of its tiles get the layout.
  void compute(Operation *op, LayoutAttr layout) {
    for (OpOperand &operand : op->getOpOperands())
      if (isTile(operand.get())) operand.set(inLayout(operand.get(), layout));
    retype(op->getResult(0), layout);
  }

  static bool isFactorInRegisters(OpOperand &use, MmaOp mma, LayoutAttr layout) {
    if (use.getOperandNumber() != 0 || mma.getTransA() || !mma.getFragment()) return false;
    const std::optional<layout::Fragment> row = mma.getFragment()->getRow();
    auto type = tileType(use.get());
    if (!row || !row->isInRegisters(layout::Operand::A)) return false;
    const layout::TileLayout factor = layout::operandLayout(
        *row, layout::Operand::A, mma.getFragment()->getWarpGrid(), {type.getDimSize(0), type.getDimSize(1)});
    return layout::haveSameThreads(factor, layout.getValue());
  }

  bool canReduce(ReduceOp op) const { return shuffles && isTile(op.getResult()); }

  void sinkYield(OpOperand &use, LayoutAttr layout) {
    auto yield = cast<scf::YieldOp>(use.getOwner());
    const unsigned i = use.getOperandNumber();
    if (auto branch = dyn_cast<scf::IfOp>(yield->getParentOp())) {
      for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
        OpOperand &value = block->getTerminator()->getOpOperand(i);
        value.set(inLayout(value.get(), layout));
      }
      return retype(branch.getResult(i), layout);
    }
    auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
    if (!loop || loop->hasAttr(kLanes)) return;
    OpOperand &init = loop.getInitArgsMutable()[i];
    init.set(inLayout(init.get(), layout));
    use.set(inLayout(use.get(), layout));
    Value variable = loop.getRegionIterArg(i), result = loop.getResult(i);
    Type memory = result.getType();
    variable.setType(withLayout(variable, layout));
    result.setType(withLayout(result, layout));
    exitAfter(variable, memory);
    exitAfter(result, memory);
  }

  /// Does it depend on nothing but constants, positions and scalars, so that it may be computed again?
  static bool isRecomputed(Value v, int depth = 12) {
    if (!isTile(v)) return true;
    Operation *op = v.getDefiningOp();
    if (!op || !depth || !isPlain(v)) return false;
    if (!isa<arith::ConstantOp, IotaOp, BroadcastOp, ExpandDimsOp>(op) && !computesElements(op)) return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isRecomputed(operand, depth - 1); });
  }

  /// Returns the tile in registers. What computes it does so there, as far as that is possible.
  Value inLayout(Value v, LayoutAttr layout) {
    if (layoutOf(v) == layout) return v;
    if (auto exit = v.getDefiningOp<ConvertOp>(); isExit(exit) && layoutOf(exit.getInput()) == layout)
      return exit.getInput();
    Operation *op = v.getDefiningOp();
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(v);
    RankedTensorType type = withLayout(v, layout);
    auto again = [&](llvm::function_ref<LayoutAttr(Value)> layoutOfOperand) {
      Operation *copy = op->hasOneUse() ? op : b.clone(*op);
      for (OpOperand &operand : copy->getOpOperands())
        if (isTile(operand.get())) operand.set(inLayout(operand.get(), layoutOfOperand(operand.get())));
      copy->getResult(0).setType(type);
      return copy->getResult(0);
    };
    if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        return arith::ConstantOp::create(b, v.getLoc(), cast<TypedAttr>(splat.resizeSplat(type)));
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op))
      return again([&](Value input) {
        layout::TileLayout own = layout.getValue();
        for (auto [d, extent] : llvm::enumerate(tileType(input).getShape()))
          if (extent == 1) own = layout::withUnitAxis(layout::withoutAxis(own, d), d);
        return LayoutAttr::get(&getContext(), own);
      });
    if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op))
      return again([&](Value) {
        return LayoutAttr::get(&getContext(), layout::withoutAxis(layout.getValue(), expand.getAxis()));
      });
    if (isa_and_nonnull<IotaOp>(op) || (op && computesElements(op) && isRecomputed(v)))
      return again([&](Value) { return layout; });
    if (auto load = dyn_cast_or_null<LoadOp>(op); load && load->hasOneUse()) {
      load.getResult().setType(type);
      return load.getResult();
    }
    if (op && computesElements(op)) {
      compute(op, layout);
      return op->getResult(0);
    }
    return ConvertOp::create(b, v.getLoc(), type, v);
  }
};

} // namespace
} // namespace tessera
