// Tiles in registers: where a thread's elements are in the tile, and their way from and to memory.
#include "compiler/codegen/gpu/Lowering.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tessera::gpu {

bool KernelLowering::isOnThreads(const layout::TileLayout &layout) const {
  return layout.lanes() == target_.warpSize && layout.warps() == target_.threads / target_.warpSize;
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
  Vec<Value> elements;
  for (Value vector : registers_.lookup(tile))
    for (int64_t i = 0, n = cast<VectorType>(vector.getType()).getDimSize(0); i < n; ++i)
      elements.push_back(vector::ExtractOp::create(b_, vector, i));
  return elements;
}

void KernelLowering::bindElements(Value tile, ValueRange elements) {
  Vec<Value> vectors;
  for (Type type : registerTypes(tile::tileType(tile))) {
    const int64_t n = cast<VectorType>(type).getDimSize(0);
    vectors.push_back(vector::FromElementsOp::create(b_, type, elements.take_front(n)));
    elements = elements.drop_front(n);
  }
  registers_[tile] = vectors;
}

Value KernelLowering::evaluateConvert(tile::ConvertOp op, int64_t lanes) {
  const Vec<Value> &elements = stored_.find(op)->second;
  if (!lanes) return elements[size_t(storedRegister_)];
  return vector::FromElementsOp::create(b_, vectorOf(tile::tileType(op.getResult()).getElementType(), lanes),
                                        ValueRange(elements).slice(size_t(storedRegister_), size_t(lanes)));
}

/// A tile in registers is stored from them: pairs of neighbours in memory at once where they are aligned.
LogicalResult KernelLowering::lowerStore(tile::StoreOp op) {
  stored_.clear();
  std::function<void(Value)> collect = [&](Value v) {
    Operation *from = v.getDefiningOp();
    if (!tile::isTile(v) || tile::inMemory(v) || !from) return;
    if (auto convert = dyn_cast<tile::ConvertOp>(from)) {
      if (!stored_.contains(convert)) stored_[convert] = elementsOf(convert.getInput());
      return;
    }
    for (Value operand : from->getOperands())
      collect(operand);
  };
  collect(op.getValue());
  if (stored_.empty()) return TileLowering::lowerStore(op);
  auto convert = cast<tile::ConvertOp>(stored_.begin()->first);
  const layout::TileLayout &layout =
      cast<tile::LayoutAttr>(tile::tileType(convert.getInput()).getEncoding()).getValue();
  if (!isOnThreads(layout)) return notImplemented(op);
  Vec<Value> roots = {op.getValue()};
  if (op.getFlags()) roots.push_back(op.getFlags());
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  const auto shape = tile::tileType(op.getValue()).getShape();
  Value inside = both(insideCondition(w), insideCondition(roots));
  if (!op.getLower().empty())
    inside = both(inside, boundsFull(op.getLower(), op.getUpper(), constants(shape)));
  Vec<Value> thread = threadIndex(layout);
  auto emit = [&](int64_t lanes, Mode mode) {
    for (int64_t r = 0; r < layout.registers(); r += std::max<int64_t>(lanes, 1)) {
      storedRegister_ = r;
      Vec<Value> at = registerIndex(layout, thread, r);
      Value flags = op.getFlags() ? evaluate(op.getFlags(), at, lanes, mode) : Value();
      Value v = evaluate(op.getValue(), at, lanes, mode);
      if (lanes && !flags) // aligned
        LLVM::StoreOp::create(b_, v, windowAddress(w, at),
                              unsigned(lanes * w.view.element.getIntOrFloatBitWidth() / 8));
      else
        storeWindow(w, v, at, mode, op.getLower(), op.getUpper(), flags);
    }
  };
  const size_t last = layout.unit.rank() - 1;
  const bool hasPairs = !layout.reg.empty() && layout.reg[0] == layout::Bits(1) << layout.unit.shift(last) &&
                        w.isContiguous() && !op.getFlags() && !w.view.element.isInteger(1) &&
                        !isPacked(w.view.element);
  if (!hasPairs) {
    emit(0, {false});
    return success();
  }
  Value isWide = both(isAligned(w, shape, 2), inside);
  auto branch = scf::IfOp::create(b_, TypeRange(), isWide, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&branch.getThenRegion().front());
  emit(2, {true});
  b_.setInsertionPointToStart(&branch.getElseRegion().front());
  emit(0, {false});
  return success();
}

LogicalResult KernelLowering::lowerConvert(tile::ConvertOp op) {
  if (op->hasAttr(tile::kFromRegisters)) { // lowerStore
    if (tile::isStoredFromRegisters(op)) return success();
    return op.emitOpError() << "has " << tile::kFromRegisters
                            << " but a use that is no store of its registers";
  }
  auto layoutOf = [](Value v) { return dyn_cast_or_null<tile::LayoutAttr>(tile::tileType(v).getEncoding()); };
  auto from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  auto isPlain = [&](Value v) { return !tile::tileType(v).getEncoding(); };
  if ((from && !isPlain(op.getResult())) || (to && !isPlain(op.getInput())) || (!from && !to))
    return notImplemented(op);
  const layout::TileLayout &layout = (from ? from : to).getValue();
  if (!isOnThreads(layout))
    return op.emitOpError() << "is to " << layout.warps() << " warps of " << layout.lanes()
                            << " lanes, but a program has " << target_.threads / target_.warpSize << " of "
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
  // Pairs and more of the lowest registers are next to each other along the last axis.
  const size_t last = layout.unit.rank() - 1;
  int64_t width = 1;
  for (size_t i = 0; i < layout.reg.size() && width < 4; ++i, width *= 2)
    if (layout.reg[i] != layout::Bits(width) << layout.unit.shift(last)) break;
  Place p = place(op.getResult());
  Vec<Value> elements = elementsOf(op.getInput());
  for (int64_t r = 0; r < layout.registers(); r += width) {
    Value v = elements[r];
    if (width > 1) {
      auto type = VectorType::get({width}, v.getType());
      v = vector::FromElementsOp::create(b_, type, ValueRange(elements).slice(r, width));
    }
    storePlace(p, v, registerIndex(layout, thread, r));
  }
  lowerBarrier();
  return success();
}

} // namespace tessera::gpu
