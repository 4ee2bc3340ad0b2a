// Tiles in registers: stores to tensors, and what loads (RegisterLoads.cpp) have in common with them.
//
// A lane's registers that are next to each other in a row are one access of up to 16 bytes, if the tensor is
// aligned for it and the tile is inside; that is known at run time, for the whole tile. Where the tensor ends
// between such accesses, or its rows are aligned for those of 4 bytes only, each access has a condition.
// Otherwise each element is loaded or stored under its mask.
//
// What an elementwise operation alone uses is loaded where that operation is computed, register by register,
// and where its result alone is stored, some registers are computed and stored before the next ones are
// loaded: C += A @ B would else have all of C in registers beside all of the sums.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tessera::gpu {

int64_t KernelLowering::neighbours(const layout::TileLayout &layout, int64_t elementBytes) {
  const size_t last = layout.unit.rank() - 1;
  int64_t width = 1;
  for (size_t i = 0; i < layout.reg.size() && 2 * width * elementBytes <= 16; ++i, width *= 2)
    if (layout.reg[i] != layout::Bits(width) << layout.unit.shift(last)) break;
  return width;
}

/// The bits of a thread's number that make no difference to the elements it holds.
static int64_t copiesOf(const layout::TileLayout &layout) {
  int64_t copies = 0;
  layout::BitsList images = layout.lane;
  llvm::append_range(images, layout.warp);
  for (auto [i, image] : llvm::enumerate(images))
    if (!image) copies |= int64_t(1) << i;
  return copies;
}

void KernelLowering::storeOnce(const layout::TileLayout &layout, llvm::function_ref<void()> store) {
  const int64_t copies = copiesOf(layout);
  if (!copies) return store();
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, arith::AndIOp::create(b_, thread_, i32(copies)),
                                i32(0)),
          store);
}

Value KernelLowering::isAligned(const Window &w, ArrayRef<int64_t> shape, int64_t bytes) {
  auto number = [&](int64_t n) -> Value { return arith::ConstantOp::create(b_, b_.getI64IntegerAttr(n)); };
  const int64_t elementBytes = target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8;
  // The bits of the first address and of the distances between rows.
  Value first = windowAddress(w, constants(Vec<int64_t>(shape.size(), 0)));
  Value bits = LLVM::PtrToIntOp::create(b_, b_.getI64Type(), first);
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d] > 1) {
      Value distance = arith::MulIOp::create(b_, toI64(w.view.strides[w.dimOfAxis[d]]), number(elementBytes));
      bits = arith::OrIOp::create(b_, bits, distance);
    }
  if (!isPacked(w.view.element)) bytes = std::min(bytes, wideAlign(w.view.data)); // these count half bytes
  Value low = arith::AndIOp::create(b_, bits, number(bytes - 1));
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, low, number(0));
}

Value KernelLowering::isInVectors(const Window &w, const Present &part, ArrayRef<int64_t> shape,
                                  int64_t step) {
  Value aligned =
      isAligned(w, shape, step * target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8);
  if (part.lower.empty()) return aligned;
  Value ends = arith::OrIOp::create(b_, toI64(part.lower.back()), toI64(part.upper.back()));
  Value odd = arith::AndIOp::create(b_, ends, constantOf(b_.getI64Type(), b_.getI64IntegerAttr(step - 1)));
  return both(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, odd, zeroOf(b_.getI64Type())), aligned);
}

SmallVector<int64_t> KernelLowering::vectorSteps(int64_t width, int64_t elementBytes) {
  SmallVector<int64_t> steps;
  for (int64_t step : {width, std::min(width, 4 / elementBytes)})
    if (step > 1 && !llvm::is_contained(steps, step)) steps.push_back(step);
  return steps;
}

/// Not if all that writes the tensor is stores of the same elements by the same threads. Of threads that hold
/// the same elements only one stores them, when others may not have loaded them yet.
bool KernelLowering::isOverwritten(tile::LoadOp load) {
  return llvm::any_of(load.getView().getUsers(), [&](Operation *user) {
    if (isa<tile::LoadOp, tile::DimOp>(user)) return false;
    auto layout = tile::layoutOf(load.getResult());
    auto isOfOthers = [&](auto store) {
      return !layout || tile::layoutOf(store.getValue()) != layout || copiesOf(layout.getValue()) ||
             store.getStarts() != load.getStarts() || store.getExtents() != load.getExtents();
    };
    // Of a box all lanes of the warp have loaded what they compute it from, before one of them stores it.
    if (auto store = dyn_cast<tile::StoreBoxOp>(user)) return isOfOthers(store);
    auto store = dyn_cast<tile::StoreOp>(user);
    return !store || isOfOthers(store);
  });
}

/// Not if the tensor is only written, by this operation, and loops around it advance by whole tiles.
bool KernelLowering::isSeenByOthers(tile::StoreOp op) {
  auto arg = dyn_cast<BlockArgument>(op.getView());
  if (!arg || arg.getOwner() != &kernel_.getBody().front() ||
      kernel_.getParam(arg).getAccess() != tile::Access::Write || !arg.hasOneUse())
    return true;
  auto shape = tile::tileType(op.getValue()).getShape();
  for (Operation *outer = op->getParentOp(); outer != kernel_; outer = outer->getParentOp()) {
    if (isa<scf::IfOp>(outer)) continue;
    auto loop = dyn_cast<scf::ForOp>(outer);
    if (!loop) return true;
    auto advances = [&](auto pair) {
      APInt step;
      return std::get<0>(pair) == loop.getInductionVar() &&
             matchPattern(loop.getStep(), m_ConstantInt(&step)) && step.sge(std::get<1>(pair));
    };
    if (llvm::none_of(llvm::zip(op.getStarts(), shape), advances)) return true;
  }
  return false;
}

LogicalResult KernelLowering::lowerStore(tile::StoreOp op) {
  if (!tile::isInRegisters(op.getValue())) {
    const bool isPackedRow = isPacked(cast<tile::ViewType>(op.getView().getType()).getElementType());
    return isPackedRow ? storePackedTile(op) : TileLowering::lowerStore(op);
  }
  auto type = tile::tileType(op.getValue());
  const layout::TileLayout &layout = cast<tile::LayoutAttr>(type.getEncoding()).getValue();
  if (!isOnThreads(layout) || (op.getFlags() && !tile::isInRegisters(op.getFlags())))
    return notImplemented(op);
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  const int64_t bytes = target::inMemoryElement(w.view.element).getIntOrFloatBitWidth() / 8;
  const int64_t width = !w.view.element.isInteger(1) && w.isContiguous() ? neighbours(layout, bytes) : 1;
  Value condition = insideCondition(w);
  if (!op.getLower().empty())
    condition = both(condition, boundsFull(op.getLower(), op.getUpper(), constants(type.getShape())));
  if (width > 1) condition = both(condition, isAligned(w, type.getShape(), width * bytes));
  // The operation whose results are computed here, some registers at a time; null: they are there already.
  Operation *computed = op.getValue().getDefiningOp();
  if (!computed || !isDeferred(computed)) computed = nullptr;
  if (computed)
    condition = both(both(condition, insideCondition(computed)), beginDeferredLoads(computed->getOperands()));
  Vec<Value> values = computed ? Vec<Value>(size_t(layout.registers())) : elementsOf(op.getValue()),
             thread = threadIndex(layout);
  // Of an aligned row whose parts inside the tensor are whole vectors, each vector is stored or not.
  const Present stored = storedPart(w, op.getLower(), op.getUpper());
  auto emit = [&](int64_t step, bool isGuarded) {
    const Mode mode{step > 1 || !isGuarded};
    auto single = [&](int64_t r) {
      storeWindow(w, values[r], registerIndex(layout, thread, r), mode, op.getLower(), op.getUpper(),
                  op.getFlags() ? elementOf(op.getFlags(), r) : Value());
    };
    auto together = [&](int64_t first) {
      auto vector = VectorType::get({step}, values[first].getType());
      Value v = vector::FromElementsOp::create(b_, vector, ValueRange(values).slice(first, step));
      llvm::SaveAndRestore wide(isWide_, true);
      store(w.view.element, v, windowAddress(w, registerIndex(layout, thread, first)));
    };
    mode_ = mode;
    for (int64_t r = 0; r < layout.registers(); r += step) {
      if (computed && r % kAtOnce == 0)
        for (register_ = r; register_ < std::min(r + kAtOnce, layout.registers()); ++register_) {
          at_ = registerIndex(layout, thread, register_);
          values[size_t(register_)] = evaluateElementwise(computed, at_, 0, mode);
        }
      if (step > 1 && isGuarded) {
        Vec<Value> at = registerIndex(layout, thread, r);
        guarded(intervalMask(stored.lower, stored.upper, at, 0, stored.row), [&] { together(r); });
        continue;
      }
      Value isWhole;
      for (int64_t i = r; step > 1 && op.getFlags() && i < r + step; ++i)
        isWhole = both(isWhole, elementOf(op.getFlags(), i));
      if (step == 1 || !isWhole) {
        step == 1 ? single(r) : together(r);
        continue;
      }
      auto branch = scf::IfOp::create(b_, TypeRange(), isWhole, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(branch.thenBlock());
      together(r);
      b_.setInsertionPointToStart(branch.elseBlock());
      for (int64_t i = r; i < r + step; ++i)
        single(i);
    }
  };
  storeOnce(layout, [&] {
    if (!condition) return emit(width, /*isGuarded=*/false);
    OpBuilder::InsertionGuard guard(b_);
    auto emitUnder = [&](Value condition, int64_t step, bool isGuarded) {
      auto branch = scf::IfOp::create(b_, TypeRange(), condition, /*withElseRegion=*/true);
      b_.setInsertionPointToStart(branch.thenBlock());
      emit(step, isGuarded);
      b_.setInsertionPointToStart(branch.elseBlock());
    };
    emitUnder(condition, width, /*isGuarded=*/false);
    // What is computed here, or has conditions of its own, would be there once more.
    if (!computed && !op.getFlags() && !stored.lower.empty())
      for (int64_t step : vectorSteps(width, bytes))
        emitUnder(isInVectors(w, stored, type.getShape(), step), step, /*isGuarded=*/true);
    emit(1, /*isGuarded=*/true);
  });
  deferred_.clear();
  if (isSeenByOthers(op)) lowerBarrier();
  return success();
}

} // namespace tessera::gpu
