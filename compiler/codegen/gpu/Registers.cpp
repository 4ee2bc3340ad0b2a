// Tiles in registers: where a thread's elements are in the tile, and their way from and to memory.
#include "compiler/codegen/gpu/Lowering.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tessera::gpu {

bool KernelLowering::isOnThreads(const layout::TileLayout &layout) const {
  return layout.lanes() == target_.warpSize && layout.warps() == threads_ / target_.warpSize;
}

/// Consecutive bits of the number that become consecutive bits of the sum are moved together.
Value KernelLowering::threadPart(ArrayRef<int64_t> images) {
  Value sum;
  auto make = [&](auto op, Value x, int64_t y) { return b_.createOrFold<decltype(op)>(x, i32(y)); };
  for (size_t i = 0; i < images.size();) {
    size_t count = 1;
    if (!images[i]) {
      ++i;
      continue;
    }
    const bool isBit = llvm::has_single_bit(static_cast<uint64_t>(images[i]));
    while (isBit && i + count < images.size() && images[i + count] == images[i] << count)
      ++count;
    Value part = make(arith::ShRUIOp(), thread_, i);
    part = make(arith::AndIOp(), part, (int64_t(1) << count) - 1);
    part = make(arith::MulIOp(), part, images[i]);
    sum = sum ? arith::XOrIOp::create(b_, sum, part).getResult() : part;
    i += count;
  }
  return arith::IndexCastUIOp::create(b_, b_.getIndexType(), sum ? sum : i32(0));
}

SmallVector<Value> KernelLowering::threadIndex(const layout::TileLayout &layout) {
  Vec<Value> index;
  for (size_t d = 0; d < layout.unit.rank(); ++d) {
    Vec<int64_t> images;
    for (layout::Bits bit : layout::concat(layout.lane, layout.warp))
      images.push_back(layout.unit.onAxis(bit, d));
    index.push_back(threadPart(images));
  }
  return index;
}

SmallVector<Value> KernelLowering::registerIndex(const layout::TileLayout &layout, Indices thread,
                                                 int64_t number) {
  Vec<Value> index;
  for (auto [d, constantPart] : llvm::enumerate(layout.at(number, 0, 0))) {
    int64_t touched = 0; // bits that threads vary
    for (layout::Bits bit : layout::concat(layout.lane, layout.warp))
      touched |= layout.unit.onAxis(bit, d);
    // Without common bits the sum is an addition, which becomes the offset of an address.
    if (!constantPart)
      index.push_back(thread[d]);
    else if (constantPart & touched)
      index.push_back(arith::XOrIOp::create(b_, thread[d], constant(constantPart)));
    else
      index.push_back(arith::AddIOp::create(b_, thread[d], constant(constantPart)));
  }
  return index;
}

SmallVector<Value> KernelLowering::elementsOf(Value tile) {
  if (auto it = elements_.find(tile); it != elements_.end()) return it->second;
  Vec<Value> elements;
  for (Value vector : registers_.lookup(tile))
    for (int64_t i = 0, n = cast<VectorType>(vector.getType()).getDimSize(0); i < n; ++i)
      elements.push_back(vector::ExtractOp::create(b_, vector, i));
  return elements;
}

Value KernelLowering::elementOf(Value tile, int64_t number) {
  if (auto it = elements_.find(tile); it != elements_.end()) return it->second[number];
  const auto held = registers_.find(tile);
  const int64_t width = cast<VectorType>(held->second.front().getType()).getDimSize(0);
  return vector::ExtractOp::create(b_, held->second[number / width], number % width);
}

void KernelLowering::bindElements(Value tile, ValueRange elements) {
  elements_[tile] = Vec<Value>(elements);
  Vec<Value> vectors;
  for (Type type : registerTypes(tile::tileType(tile))) {
    const int64_t n = cast<VectorType>(type).getDimSize(0);
    vectors.push_back(vector::FromElementsOp::create(b_, type, elements.take_front(n)));
    elements = elements.drop_front(n);
  }
  registers_[tile] = vectors;
}

SmallVector<Value> KernelLowering::eachRegister(const layout::TileLayout &layout, Type element,
                                                Value condition,
                                                llvm::function_ref<Value(Indices, Mode)> emit) {
  Vec<Value> thread = threadIndex(layout);
  auto all = [&](Mode mode) {
    Vec<Value> elements;
    mode_ = mode;
    for (register_ = 0; register_ < layout.registers(); ++register_) {
      at_ = registerIndex(layout, thread, register_);
      elements.push_back(emit(at_, mode));
    }
    return elements;
  };
  if (!condition) return all({true});
  auto branch = scf::IfOp::create(b_, Vec<Type>(layout.registers(), vectorOf(element, 0)), condition, true);
  OpBuilder::InsertionGuard guard(b_);
  for (bool isInside : {true, false}) {
    b_.setInsertionPointToStart(isInside ? branch.thenBlock() : branch.elseBlock());
    scf::YieldOp::create(b_, all({isInside}));
  }
  return Vec<Value>(branch.getResults());
}

LogicalResult KernelLowering::lowerInRegisters(Operation *op) {
  Value result = op->getResult(0);
  const layout::TileLayout &layout = cast<tile::LayoutAttr>(tile::tileType(result).getEncoding()).getValue();
  if (!isOnThreads(layout) && !isa<arith::ConstantOp>(op)) return notImplemented(op);
  if (auto load = dyn_cast<tile::LoadOp>(op)) return loadInRegisters(load);
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op); expand && tile::isInRegisters(expand.getInput()))
    return bindElements(result, elementsOf(expand.getInput())), success();
  auto broadcast = dyn_cast<tile::BroadcastOp>(op);
  if (broadcast && tile::isTile(broadcast.getInput())) {
    if (!tile::isInRegisters(broadcast.getInput())) return notImplemented(op);
    const auto &own = cast<tile::LayoutAttr>(tile::tileType(broadcast.getInput()).getEncoding()).getValue();
    const layout::RegisterNumbers numbers(own);
    Vec<Value> elements, from = elementsOf(broadcast.getInput());
    for (int64_t r = 0; r < layout.registers(); ++r) {
      std::vector<int64_t> at = layout.at(r, 0, 0);
      for (auto [index, extent] : llvm::zip(at, own.unit.shape()))
        if (extent == 1) index = 0;
      elements.push_back(from[numbers.at(at)]);
    }
    return bindElements(result, elements), success();
  }
  if (!tile::isElementwise(op) && !isa<tile::BroadcastOp, tile::IotaOp, arith::ConstantOp>(op))
    return notImplemented(op);
  // Masks cost more than a branch that is the same for all threads.
  Value condition = insideCondition(op), inside = beginDeferredLoads(op->getOperands());
  const bool branches = isa<tile::MaskOp>(op) || !deferred_.empty();
  bindElements(result, eachRegister(layout, tile::tileType(result).getElementType(),
                                    branches ? both(condition, inside) : Value(), [&](Indices at, Mode mode) {
                                      return evaluateElementwise(op, at, 0,
                                                                 {branches ? mode.inside : !condition});
                                    }));
  deferred_.clear();
  return success();
}

LogicalResult KernelLowering::lowerConvert(tile::ConvertOp op) {
  auto from = tile::layoutOf(op.getInput()), to = tile::layoutOf(op.getResult());
  if (from && to) return exchangeLanes(op);
  auto isPlain = [&](Value v) { return !tile::tileType(v).getEncoding(); };
  if ((from && !isPlain(op.getResult())) || (to && !isPlain(op.getInput())) || (!from && !to))
    return notImplemented(op);
  const layout::TileLayout &layout = (from ? from : to).getValue();
  if (!isOnThreads(layout))
    return op.emitOpError() << "is to " << layout.warps() << " warps of " << layout.lanes()
                            << " lanes, but a program has " << threads_ / target_.warpSize << " of "
                            << target_.warpSize << " on " << target_.name;
  Vec<Value> thread = threadIndex(layout);
  if (to) {
    versioned(insideCondition(op.getInput()), [&](Mode mode) {
      Vec<Value> elements;
      for (int64_t r = 0; r < layout.registers(); ++r)
        elements.push_back(evaluate(op.getInput(), registerIndex(layout, thread, r), 0, mode));
      bindElements(op.getResult(), elements);
    });
    if (tile::inMemory(op.getInput())) lowerBarrier(); // it may be overwritten
    return success();
  }
  Place p = place(op.getResult());
  const int64_t bytes = target::inMemoryElement(p.element).getIntOrFloatBitWidth() / 8;
  const int64_t width = std::min<int64_t>(neighbours(layout, bytes), 4);
  Vec<Value> elements = elementsOf(op.getInput());
  storeOnce(layout, [&] {
    for (int64_t r = 0; r < layout.registers(); r += width) {
      Value v = elements[r];
      if (width > 1) {
        auto type = VectorType::get({width}, v.getType());
        v = vector::FromElementsOp::create(b_, type, ValueRange(elements).slice(r, width));
      }
      storePlace(p, v, registerIndex(layout, thread, r));
    }
  });
  lowerBarrier();
  return success();
}

} // namespace tessera::gpu
