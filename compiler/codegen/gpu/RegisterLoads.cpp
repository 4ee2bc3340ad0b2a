// Tiles in registers: loads from tensors.
//
// Vectors of neighbours are loaded as stores store them (RegisterMemory.cpp). Of a tile that is not inside
// some registers are loaded under their conditions, before the first of them is used: a branch between two
// loads would have each of them waited for.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tessera::gpu {

KernelLowering::RegisterLoad KernelLowering::beginLoad(tile::LoadOp op) {
  auto type = tile::tileType(op.getResult());
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  const int64_t bytes = target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8;
  const int64_t width = !w.view.element.isInteger(1) && w.isContiguous()
                            ? neighbours(cast<tile::LayoutAttr>(type.getEncoding()).getValue(), bytes)
                            : 1;
  Value condition = insideCondition(w);
  if (width > 1) condition = both(condition, isAligned(w, type.getShape(), width * bytes));
  return {type, std::move(w), width, condition};
}

SmallVector<Value> KernelLowering::loadPart(const RegisterLoad &load, int64_t first) {
  const Window &w = load.window;
  const layout::TileLayout &layout = cast<tile::LayoutAttr>(load.type.getEncoding()).getValue();
  const Vec<Value> thread = threadIndex(layout);
  const int64_t end = std::min(first + kAtOnce, layout.registers());
  Present part;
  if (!w.inBounds) part = presentPart(w);
  auto single = [&] {
    Vec<Value> elements;
    for (int64_t r = first; r < end; ++r)
      elements.push_back(loadWindow(w, registerIndex(layout, thread, r), 0, {false}));
    return elements;
  };
  auto vectors = [&](int64_t step) {
    Vec<Value> elements;
    for (int64_t r = first; r < end; r += step) {
      const Vec<Value> at = registerIndex(layout, thread, r);
      llvm::SaveAndRestore wide(isWide_, true);
      Value address = windowAddress(w, at);
      Value v = part.lower.empty() ? this->load(w.view.element, address, step)
                                   : loadIf(intervalMask(part.lower, part.upper, at, 0, part.row),
                                            w.view.element, address, step);
      for (int64_t i = 0; i < step; ++i)
        elements.push_back(lane(v, i));
    }
    return elements;
  };
  const int64_t bytes = target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8;
  const SmallVector<int64_t> steps = vectorSteps(load.width, bytes);
  // Tries the lengths from `i` on, the longest first.
  std::function<Vec<Value>(size_t)> from = [&](size_t i) {
    if (i == steps.size()) return single();
    return choose(
        isInVectors(w, part, load.type.getShape(), steps[i]), [&] { return vectors(steps[i]); },
        [&] { return from(i + 1); });
  };
  return from(0);
}

Value KernelLowering::loadRegister(RegisterLoad &load, Indices at, Mode mode) {
  if (load.width == 1) return loadWindow(load.window, at, 0, mode);
  if (!mode.inside) {
    if (register_ % kAtOnce == 0) load.elements = loadPart(load, register_);
    return load.elements[size_t(register_ % kAtOnce)];
  }
  if (register_ % load.width == 0) {
    llvm::SaveAndRestore wide(isWide_, true);
    load.vector = this->load(load.window.view.element, windowAddress(load.window, at), load.width);
  }
  return lane(load.vector, register_ % load.width);
}

LogicalResult KernelLowering::loadInRegisters(tile::LoadOp op) {
  auto type = tile::tileType(op.getResult());
  const layout::TileLayout &layout = cast<tile::LayoutAttr>(type.getEncoding()).getValue();
  RegisterLoad load = beginLoad(op);
  bindElements(op.getResult(),
               eachRegister(layout, type.getElementType(), load.condition,
                            [&](Indices at, Mode mode) { return loadRegister(load, at, mode); }));
  if (mayChange(load.window.view) && isOverwritten(op)) lowerBarrier();
  return success();
}

/// The tile that the operation stores to a tensor; null: it stores none.
static Value storedTile(Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op)) return store.getValue();
  if (auto store = dyn_cast<tile::StoreBoxOp>(op)) return store.getValue();
  return {};
}

/// A load whose elements one elementwise operation uses, a cast of such elements, and an operation on them
/// whose many results are stored. Nothing is written in between.
bool KernelLowering::isDeferred(Operation *op) {
  if (op->getNumResults() != 1 || !tile::isInRegisters(op->getResult(0)) || !op->hasOneUse()) return false;
  Operation *user = *op->user_begin();
  auto hasDeferred = [&] {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *input = operand.getDefiningOp();
      return input && isDeferred(input);
    });
  };
  if (Value stored = storedTile(user))
    return tile::isElementwise(op) && !isa<tile::MaskOp>(op) && user == op->getNextNode() &&
           stored == op->getResult(0) &&
           tile::layoutOf(op->getResult(0)).getValue().registers() > tile::kSumsOfTwoBlocks && hasDeferred();
  // What a reduction combines, and the elements that are masked for it.
  auto isOfReduction = [&](Operation *input, Operation *reduce) {
    return isa<tile::ReduceOp>(reduce) && reduce == input->getNextNode() && tile::isElementwise(input) &&
           tile::layoutOf(input->getResult(0)).getValue().registers() > tile::kSumsOfTwoBlocks;
  };
  if (isOfReduction(op, user)) return true;
  if (isa<tile::MaskOp>(user) && user == op->getNextNode() && user->hasOneUse() &&
      isOfReduction(user, *user->user_begin()) &&
      tile::layoutOf(user->getResult(0)) == tile::layoutOf(op->getResult(0)) && tile::isElementwise(op) &&
      !hasDeferred())
    return true;
  // What a store converts is computed with it.
  if (auto cast = dyn_cast<tile::CastOp>(user);
      cast && tile::isElementwise(op) && !isa<tile::MaskOp, tile::CastOp>(op))
    return user == op->getNextNode() && user->hasOneUse() && storedTile(*user->user_begin()) &&
           *user->user_begin() == user->getNextNode() &&
           tile::layoutOf(user->getResult(0)) == tile::layoutOf(op->getResult(0)) &&
           tile::layoutOf(op->getResult(0)).getValue().registers() > tile::kSumsOfTwoBlocks && hasDeferred();
  if (!isa<tile::LoadOp, tile::CastOp>(op)) return false;
  if (user->getBlock() != op->getBlock() || !tile::isElementwise(user) || isa<tile::MaskOp>(user) ||
      tile::layoutOf(user->getResult(0)) != tile::layoutOf(op->getResult(0)))
    return false;
  for (Operation *between = op->getNextNode(); between != user; between = between->getNextNode())
    if (!isa<tile::LoadOp>(between) && !isMemoryEffectFree(between)) return false;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return !mayChange(views_[load.getView()]) || !isOverwritten(load);
  Operation *input = op->getOperand(0).getDefiningOp();
  return input && isDeferred(input);
}

Value KernelLowering::beginDeferredLoads(ValueRange operands) {
  Value condition;
  for (Value operand : operands) {
    Operation *op = operand.getDefiningOp();
    if (!op || !tile::isTile(operand) || !isDeferred(op)) continue;
    auto loaded = dyn_cast<tile::LoadOp>(op);
    if (!loaded) {
      condition = both(condition, beginDeferredLoads(op->getOperands()));
      continue;
    }
    RegisterLoad load = beginLoad(loaded);
    condition = both(condition, load.condition);
    deferred_.try_emplace(op, std::move(load));
  }
  return condition;
}

Value KernelLowering::heldElement(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto load = deferred_.find(op); load != deferred_.end()) return loadRegister(load->second, at_, mode_);
  return op && isDeferred(op) ? evaluateElementwise(op, at_, 0, mode_) : elementOf(tile, register_);
}

} // namespace tessera::gpu
