// Global tensors, shared buffers and tiles in scratch: addresses, masks, loads and stores.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::target {

Type inMemoryElement(Type element) {
  if (element.isInteger(1) || isPacked(element)) return IntegerType::get(element.getContext(), 8);
  return registerElement(element);
}

// ---- Raw access

Value TileLowering::address(Value base, Value elementIndex, Type element) {
  return LLVM::GEPOp::create(b_, base.getType(), inMemoryElement(element), base,
                             ArrayRef<LLVM::GEPArg>{toI64(elementIndex)});
}

/// `lanes` == 0 loads a scalar.
Value TileLowering::load(Type element, Value address, int64_t lanes, Value mask) {
  if (isPacked(element)) return loadPacked(element, address, lanes, mask);
  Type memory = inMemoryElement(element);
  unsigned align = std::max(1u, memory.getIntOrFloatBitWidth() / 8);
  Type type = lanes ? Type(VectorType::get({lanes}, memory)) : memory;
  Value v;
  if (mask && !lanes) {
    auto branch = scf::IfOp::create(b_, memory, mask, true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(b_, LLVM::LoadOp::create(b_, memory, address, align).getResult());
    b_.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(b_, zeroOf(memory));
    v = branch.getResult(0);
  } else if (mask)
    v = LLVM::MaskedLoadOp::create(b_, type, address, mask, zeroOf(type), align);
  else
    v = LLVM::LoadOp::create(b_, type, address, alignmentOf(element, lanes, address));
  if (element.isInteger(1)) v = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, v, zeroOf(type));
  return v;
}

void TileLowering::store(Type element, Value v, Value address, Value mask) {
  if (isPacked(element)) return storePacked(v, address, mask);
  Type memory = inMemoryElement(element);
  unsigned align = std::max(1u, memory.getIntOrFloatBitWidth() / 8);
  if (element.isInteger(1)) {
    auto vector = dyn_cast<VectorType>(v.getType());
    v = arith::ExtUIOp::create(b_, vector ? Type(VectorType::get(vector.getShape(), memory)) : memory, v);
  }
  if (mask && !isa<VectorType>(v.getType())) {
    auto branch = scf::IfOp::create(b_, TypeRange(), mask, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(&branch.getThenRegion().front());
    LLVM::StoreOp::create(b_, v, address, align);
  } else if (mask)
    LLVM::MaskedStoreOp::create(b_, v, address, mask, align);
  else if (auto vector = dyn_cast<VectorType>(v.getType()))
    LLVM::StoreOp::create(b_, v, address, alignmentOf(element, vector.getDimSize(0), address));
  else
    LLVM::StoreOp::create(b_, v, address, align);
}

// ---- Tiles in scratch

TileLowering::Place TileLowering::place(Value v) {
  if (auto it = carried_.find(v); it != carried_.end()) return it->second;
  auto type = tile::tileType(v);
  Operation *op = v.getDefiningOp();
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    Place p = place(reshape.getInput());
    p.shape.assign(type.getShape().begin(), type.getShape().end());
    return p;
  }
  return placesOf(op, ValueRange(v)).front();
}

SmallVector<TileLowering::Place> TileLowering::placesOf(Operation *op, ValueRange tiles) {
  auto planned = op->getAttrOfType<DenseI64ArrayAttr>(tile::kScratch);
  ArrayRef<int64_t> offsets = planned ? planned.asArrayRef() : ArrayRef<int64_t>();
  Vec<Place> places;
  size_t next = 0;
  for (Value v : tiles) {
    if (!tile::isTile(v) || tile::isInRegisters(v)) {
      places.push_back({});
      continue;
    }
    auto type = tile::tileType(v);
    Place p;
    p.offset = offsets[next++];
    p.data = address(scratch_, constant(p.offset), b_.getI8Type());
    p.shape.assign(type.getShape().begin(), type.getShape().end());
    p.element = type.getElementType();
    if (swizzles() && tile::canSwizzle(v)) swizzle(p, v);
    places.push_back(p);
  }
  return places;
}

TileLowering::Place TileLowering::bufferPlace(Value buffer) {
  auto slot = buffer.getDefiningOp<tile::SlotOp>();
  auto alloc = (slot ? slot.getRing() : buffer).getDefiningOp<tile::AllocSharedOp>();
  auto type = cast<tile::BufferType>(buffer.getType());
  Place p;
  p.offset = *alloc.getOffset();
  p.data = address(buffers_, constant(p.offset), b_.getI8Type());
  if (slot) {
    Value bytes = b_.createOrFold<arith::MulIOp>(scalar(slot.getIndex()), constant(type.getSizeInBytes()));
    p.data = address(p.data, bytes, b_.getI8Type());
  }
  p.shape.assign(type.getShape().begin(), type.getShape().end());
  p.element = loadedElementType(type.getElementType());
  if (swizzles() && tile::canSwizzle(buffer)) swizzle(p, buffer);
  return p;
}

void TileLowering::swizzle(Place &p, Value v) {
  const int64_t bytes = inMemoryElement(p.element).getIntOrFloatBitWidth() / 8;
  int64_t rowBytes = p.shape.back() * bytes;
  if (tile::isInPanels(v)) {
    rowBytes = layout::panelBytes(rowBytes);
    p.panel = rowBytes / bytes;
  }
  p.swizzle = layout::swizzleOf(rowBytes);
}

Value TileLowering::placeAddress(const Place &p, Indices at) {
  Vec<Value> index(at);
  if (!p.swizzle.isNone()) { // of chunks, all powers of two
    const int64_t chunk = 16 * 8 / inMemoryElement(p.element).getIntOrFloatBitWidth();
    Value turn = b_.createOrFold<arith::ShRUIOp>(at[0], constant(llvm::Log2_64(p.swizzle.rows)));
    turn = b_.createOrFold<arith::AndIOp>(turn, constant(p.swizzle.chunks - 1));
    turn = b_.createOrFold<arith::ShLIOp>(turn, constant(llvm::Log2_64(chunk)));
    index[1] = b_.createOrFold<arith::XOrIOp>(at[1], turn);
  }
  if (p.panel && p.panel < p.shape[1]) { // a power of two
    Value number = b_.createOrFold<arith::ShRUIOp>(index[1], constant(llvm::Log2_64(uint64_t(p.panel))));
    Value row = b_.createOrFold<arith::AddIOp>(b_.createOrFold<arith::MulIOp>(number, constant(p.shape[0])),
                                               index[0]);
    Value column = b_.createOrFold<arith::AndIOp>(index[1], constant(p.panel - 1));
    row = b_.createOrFold<arith::MulIOp>(row, constant(p.panel));
    return address(p.data, b_.createOrFold<arith::AddIOp>(row, column), p.element);
  }
  Value linear = index[0];
  for (size_t d = 1; d < p.shape.size(); ++d)
    linear = b_.createOrFold<arith::AddIOp>(b_.createOrFold<arith::MulIOp>(linear, constant(p.shape[d])),
                                            index[d]);
  return address(p.data, linear, p.element);
}

Value TileLowering::loadPlace(const Place &p, Indices at, int64_t lanes) {
  return load(p.element, placeAddress(p, at), lanes);
}

void TileLowering::storePlace(const Place &p, Value vector, Indices at) {
  store(p.element, vector, placeAddress(p, at));
}

/// Computes words of one call of Philox in one nest.
void TileLowering::computeWords(ArrayRef<tile::RandOp> words) {
  tile::RandOp first = words.front();
  Vec<Place> places = llvm::map_to_vector(words, [&](tile::RandOp op) { return place(op.getResult()); });
  nestPart(places.front().shape, lanesFor(first->getOperands(), first.getResult().getType()),
           {{}, insideCondition(first)}, [&](Indices at, int64_t lanes, Mode mode) {
             Vec<Value> values = llvm::map_to_vector(
                 words, [&](tile::RandOp op) { return evaluateElementwise(op, at, lanes, mode); });
             for (auto [to, value] : llvm::zip(places, values))
               storePlace(to, value, at);
           });
}

/// Computes an elementwise op and stores it to the place of its result.
void TileLowering::compute(Operation *op) {
  // tile-fuse puts the words of a call next to each other.
  if (auto rand = dyn_cast<tile::RandOp>(op)) {
    auto isWord = [&](Operation *other) {
      return isa_and_nonnull<tile::RandOp>(other) && other->getOperands() == op->getOperands() &&
             tile::inMemory(other->getResult(0));
    };
    if (isWord(op->getPrevNode())) return; // with the first word
    Vec<tile::RandOp> words = {rand};
    for (Operation *next = op->getNextNode(); isWord(next); next = next->getNextNode())
      words.push_back(cast<tile::RandOp>(next));
    if (words.size() > 1) return computeWords(words);
  }
  Place p = place(op->getResult(0));
  if (callRead(op, p)) return;
  Part part = partToCompute(op);
  part.vectors = vectorsFor(op->getResult(0));
  const int64_t lanes = lanesFor(op->getOperands(), op->getResult(0).getType());
  auto body = [&](Indices at, int64_t width, Mode mode) {
    storePlace(p, evaluateElementwise(op, at, width, mode), at);
  };
  const bool isWholeColumn = part.ends.empty() || isConstantIntValue(part.ends.back(), 1);
  if (lanes <= 1 || part.interior || !isWholeColumn || !isColumn(op->getResult(0), /*isRoot=*/true))
    return nestPart(p.shape, lanes, part, body);
  if (!part.ends.empty()) part.ends.pop_back();
  nestPart(ArrayRef(p.shape).drop_back(), columnLanes(p.shape, lanes), part,
           [&](Indices at, int64_t width, Mode mode) { body(inColumn(at), width, mode); });
}

/// Is the last of several axes one element long, and are its values computed from memory where the elements
/// along the axis before it are neighbours?
bool TileLowering::isColumn(Value v, bool isRoot) {
  if (!tile::isTile(v)) return true;
  auto shape = tile::tileType(v).getShape();
  if (shape.size() < 2 || shape.back() != 1) return false;
  Operation *op = v.getDefiningOp();
  if (tile::inMemory(v) && !isRoot) return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return cast<DenseElementsAttr>(constant.getValue()).isSplat();
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) return !tile::isTile(broadcast.getInput());
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op))
    return static_cast<size_t>(expand.getAxis()) + 1 == shape.size() && tile::inMemory(expand.getInput());
  return tile::isElementwise(op) && !isa<tile::RandOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isColumn(operand); });
}

int64_t TileLowering::columnLanes(ArrayRef<int64_t> shape, int64_t lanes) {
  return std::min<int64_t>(lanes, llvm::bit_floor(static_cast<uint64_t>(shape[shape.size() - 2])));
}

SmallVector<Value> TileLowering::inColumn(Indices at) {
  Vec<Value> index(at);
  index.push_back(constant(0));
  return index;
}

void TileLowering::assign(Value v, const Place &p, Operation *at) {
  if (tile::inMemory(v) && place(v).offset == p.offset) return;
  Vec<Value> ends = observedEnds(v, at);
  const int64_t lanes = lanesFor(v);
  const bool isWholeColumn = ends.empty() || !ends.back() || isConstantIntValue(ends.back(), 1);
  const bool column = lanes > 1 && isWholeColumn && isColumn(v);
  if (column && !ends.empty()) ends.pop_back();
  versioned(insideCondition(ValueRange(v)), [&](Mode mode) {
    auto body = [&](Indices index, int64_t width) { storePlace(p, evaluate(v, index, width, mode), index); };
    if (column)
      nest(
          ArrayRef(p.shape).drop_back(), columnLanes(p.shape, lanes),
          [&](Indices index, int64_t width) { body(inColumn(index), width); }, ends);
    else
      nest(p.shape, lanes, body, ends);
  });
}

// ---- Windows

TileLowering::Window TileLowering::window(View view, ValueRange starts, ArrayRef<int64_t> extents,
                                          bool inBounds) {
  Window w{std::move(view), {}, {}, Vec<int64_t>(extents), inBounds, {}};
  for (auto [dim, start] : llvm::enumerate(starts)) {
    tile::IndexSign sign = tile::signOf(start);
    w.starts.push_back(tile::saturatedIndex(b_, b_.getLoc(), scalar(start), sign));
    w.nonNegative.push_back(sign != tile::IndexSign::Unknown);
    if (extents[dim] >= 0) w.dimOfAxis.push_back(dim);
  }
  return w;
}

TileLowering::Window TileLowering::window(Value view, ValueRange starts, ArrayRef<int64_t> extents,
                                          bool inBounds) {
  return window(views_[view], starts, extents, inBounds);
}

TileLowering::View TileLowering::viewOf(Value memory) {
  if (auto it = views_.find(memory); it != views_.end()) return it->second;
  Place p = bufferPlace(memory);
  View view{p.data, {}, Vec<Value>(p.shape.size()), p.element};
  int64_t stride = 1;
  for (int64_t n : p.shape)
    view.sizes.push_back(constant(n));
  for (size_t d = p.shape.size(); d-- > 0; stride *= p.shape[d])
    view.strides[d] = constant(stride);
  return view;
}

TileLowering::Window TileLowering::bufferWindow(Value buffer, ValueRange starts, ArrayRef<int64_t> extents) {
  return window(viewOf(buffer), starts, extents, false);
}

/// Was `end` computed as the minimum of a bound and others, or as 0 where that is negative?
static bool isCutTo(Value end, llvm::function_ref<bool(Value)> isBound) {
  if (isBound(end)) return true;
  if (auto least = end.getDefiningOp<arith::MinSIOp>())
    return isCutTo(least.getLhs(), isBound) || isCutTo(least.getRhs(), isBound);
  auto most = end.getDefiningOp<arith::MaxSIOp>();
  return most && isConstantIntValue(most.getRhs(), 0) && isCutTo(most.getLhs(), isBound);
}

/// Is `end` no further than from `start` to `size`? Then what is before it is inside.
static bool isCutToTensor(Value end, Value size, Value start) {
  auto unsaturated = [](Value index) { // tile::saturatedIndex creates an operation for each use
    auto least = index.getDefiningOp<arith::MinUIOp>();
    return least && getConstantIntValue(least.getRhs()) ? least.getLhs() : index;
  };
  return isCutTo(end, [&](Value v) {
    auto left = v.getDefiningOp<arith::SubIOp>();
    return left && left.getLhs() == size && unsaturated(left.getRhs()) == unsaturated(start);
  });
}

/// i1: all of the window, or all of it before `ends`, is inside its tensor, and aligned. Null if that is
/// promised, or known by how the ends were computed.
Value TileLowering::insideCondition(const Window &w, Indices ends) {
  Value all = isAligned(w);
  if (w.inBounds) return all;
  auto also = [&](arith::CmpIPredicate p, Value x, Value y) {
    all = both(all, arith::CmpIOp::create(b_, p, x, y));
  };
  for (size_t d = 0, axis = 0; d < w.starts.size(); ++d) {
    if (!w.nonNegative[d]) also(arith::CmpIPredicate::sge, w.starts[d], constant(0));
    bool isCut = w.extents[d] >= 0 && !ends.empty();
    Value extent = isCut ? ends[axis] : constant(std::max<int64_t>(w.extents[d], 1));
    axis += w.extents[d] >= 0;
    if (isCut && isCutToTensor(extent, w.view.sizes[d], w.starts[d])) continue;
    Value last = b_.createOrFold<arith::SubIOp>(w.view.sizes[d], extent); // start + extent may overflow
    also(arith::CmpIPredicate::sle, w.starts[d], last);
  }
  return all;
}

tile::Interval TileLowering::present(const Window &w, size_t dim) {
  return tile::presentInterval(b_, b_.getLoc(), w.starts[dim], w.extents[dim], w.view.sizes[dim],
                               w.nonNegative[dim]);
}

SmallVector<Value> TileLowering::windowEnds(const Window &w) {
  Vec<Value> ends;
  for (unsigned d : w.dimOfAxis) {
    if (!w.nonNegative[d]) return {};
    ends.push_back(present(w, d).hi);
  }
  for (unsigned d = 0; d < w.starts.size(); ++d) {
    if (w.extents[d] >= 0) continue;
    Value inside = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, w.starts[d], w.view.sizes[d]);
    ends[0] = b_.createOrFold<arith::SelectOp>(inside, ends[0], constant(0));
  }
  return ends;
}

Value TileLowering::windowAddress(const Window &w, Indices at) {
  Value linear;
  for (size_t d = 0, axis = 0; d < w.starts.size(); ++d) {
    Value index = w.starts[d];
    if (axis < w.dimOfAxis.size() && w.dimOfAxis[axis] == d)
      index = b_.createOrFold<arith::AddIOp>(index, at[axis++]);
    Value term = b_.createOrFold<arith::MulIOp>(index, w.view.strides[d]);
    linear = linear ? b_.createOrFold<arith::AddIOp>(linear, term) : term;
  }
  return address(w.view.data, linear, w.view.element);
}

/// vector<lanes x i1> or i1: lo <= first + lane < hi, where `first` is a position in a tile; a null `lo` is
/// 0.
Value TileLowering::rangeMask(Value first, Value lo, Value hi, int64_t lanes) {
  bool fromZero = !lo || isConstantIntValue(lo, 0);
  if (!lanes) {
    Value below = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, first, hi);
    if (fromZero) return below;
    return arith::AndIOp::create(b_, arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, first, lo), below);
  }
  // Clamped to the vector before the subtraction, because ends may be any i64.
  Value last = b_.createOrFold<arith::AddIOp>(first, constant(lanes));
  auto clamped = [&](Value end) {
    end = b_.createOrFold<arith::MaxSIOp>(b_.createOrFold<arith::MinSIOp>(end, last), first);
    Value d = b_.createOrFold<arith::SubIOp>(end, first);
    return splat(b_.createOrFold<arith::IndexCastOp>(b_.getI32Type(), d), lanes);
  };
  Value steps = laneIndices(constant(0), lanes);
  Value mask = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, steps, clamped(hi));
  if (fromZero) return mask;
  return arith::AndIOp::create(b_, mask,
                               arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, steps, clamped(lo)));
}

TileLowering::Present TileLowering::presentPart(const Window &w) {
  Present part;
  for (size_t d = 0; d < w.starts.size(); ++d) {
    if (w.extents[d] >= 0) {
      tile::Interval axis = present(w, d);
      part.lower.push_back(axis.lo);
      part.upper.push_back(axis.hi);
      continue;
    }
    part.row =
        both(part.row, arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, w.starts[d], w.view.sizes[d]));
  }
  return part;
}

Value TileLowering::leadingCount(Indices lower, Indices upper, Indices at, int64_t lanes, Value row) {
  // Clamped to the vector before the subtraction, because ends may be any i64.
  Value last = b_.createOrFold<arith::AddIOp>(at.back(), constant(lanes));
  Value end = b_.createOrFold<arith::MinSIOp>(upper.back(), last);
  Value count = b_.createOrFold<arith::SubIOp>(b_.createOrFold<arith::MaxSIOp>(end, at.back()), at.back());
  for (size_t d = 0; d + 1 < at.size(); ++d)
    row = both(row, rangeMask(at[d], lower[d], upper[d], 0));
  return row ? b_.createOrFold<arith::SelectOp>(row, count, constant(0)) : count;
}

/// The elements between `lower` and `upper` along every axis if `row` (null: true) holds, else none.
Value TileLowering::intervalMask(Indices lower, Indices upper, Indices at, int64_t lanes, Value row) {
  if (lanes && isConstantIntValue(lower.back(), 0))
    return rangeMask(constant(0), {}, leadingCount(lower, upper, at, lanes, row), lanes);
  Value mask = rangeMask(at.back(), lower.back(), upper.back(), lanes);
  for (size_t d = 0; d + 1 < at.size(); ++d) {
    Value inside = rangeMask(at[d], lower[d], upper[d], 0);
    row = row ? arith::AndIOp::create(b_, row, inside).getResult() : inside;
  }
  return row ? arith::AndIOp::create(b_, mask, splat(row, lanes)).getResult() : mask;
}

Value TileLowering::boundsMask(ValueRange lower, ValueRange upper, Indices at, int64_t lanes) {
  return intervalMask(mappedScalars(lower), mappedScalars(upper), at, lanes);
}

Value TileLowering::boundsFull(ValueRange lower, ValueRange upper, Indices ends) {
  Value all;
  for (auto [lo, hi, end] : llvm::zip(lower, upper, ends)) {
    if (!isConstantIntValue(scalar(lo), 0))
      all = both(all, arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, scalar(lo), constant(0)));
    if (!isCutTo(end, [&](Value v) { return v == scalar(hi); }))
      all = both(all, arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, scalar(hi), end));
  }
  return all;
}

void TileLowering::cutEnds(Vec<Value> &ends, ValueRange upper) {
  for (auto [end, hi] : llvm::zip(ends, upper)) {
    Value cut = b_.createOrFold<arith::MinSIOp>(end, scalar(hi));
    end = b_.createOrFold<arith::MaxSIOp>(cut, constant(0));
  }
}

/// Pointers to `lanes` elements at a distance of `stride`.
Value TileLowering::stridedAddresses(Value first, Value stride, Type element, int64_t lanes) {
  auto pointers = VectorType::get({lanes}, LLVM::LLVMPointerType::get(b_.getContext()));
  auto wide = VectorType::get({lanes}, b_.getI64Type());
  Value steps = arith::ExtSIOp::create(b_, wide, laneIndices(constant(0), lanes));
  Value offsets = b_.createOrFold<arith::MulIOp>(steps, splat(toI64(stride), lanes));
  return LLVM::GEPOp::create(b_, pointers, inMemoryElement(element), first, ArrayRef<LLVM::GEPArg>{offsets});
}

Value TileLowering::loadLanes(Type element, Value addresses, Value mask) {
  if (isPacked(element)) return loadPackedLanes(element, addresses, mask);
  const int64_t lanes = cast<VectorType>(addresses.getType()).getDimSize(0);
  auto type = VectorType::get({lanes}, inMemoryElement(element));
  if (!mask) mask = splat(arith::ConstantOp::create(b_, b_.getBoolAttr(true)), lanes);
  unsigned align = std::max(1u, type.getElementTypeBitWidth() / 8);
  Value v = LLVM::masked_gather::create(b_, type, addresses, mask, ValueRange{zeroOf(type)},
                                        b_.getI32IntegerAttr(align));
  if (element.isInteger(1)) v = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, v, zeroOf(type));
  return v;
}

Value TileLowering::loadStrided(Type element, Value first, int64_t step, int64_t lanes,
                                std::optional<LinePart> line) {
  if (isPacked(element))
    return loadLanes(element, stridedAddresses(first, constant(step), element, lanes), {});
  const int64_t distance = std::abs(step), span = distance * (lanes - 1) + 1;
  Type memory = inMemoryElement(element);
  Value low = step > 0 ? first : address(first, constant(1 - span), element);
  auto type = VectorType::get({lanes}, memory);
  const unsigned align = std::max(1u, memory.getIntOrFloatBitWidth() / 8);
  // The last vector ends with the last element. `chosen` has the elements of the vectors so far.
  Value chosen;
  for (int64_t k = 0; k < distance; ++k) {
    const int64_t begin = std::min(k * lanes, span - lanes);
    Value from = address(low, constant(begin), element), part;
    if (line) {
      const int64_t before = step > 0 ? begin : begin + 1 - span;
      Value position = arith::AddIOp::create(b_, line->first, constant(before));
      Value lo = arith::SubIOp::create(b_, constant(0), position);
      Value hi = arith::SubIOp::create(b_, line->size, position);
      Value mask = rangeMask(constant(0), lo, hi, lanes); // of lanes: positions may be negative
      // A masked load without lanes is slow at an address without memory.
      Value end = arith::AddIOp::create(b_, position, constant(lanes));
      Value any = both(arith::CmpIOp::create(b_, arith::CmpIPredicate::sgt, end, constant(0)),
                       arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, position, line->size));
      from = arith::SelectOp::create(b_, any, from, line->data);
      part = LLVM::MaskedLoadOp::create(b_, type, from, mask, zeroOf(type), align);
    } else {
      part = LLVM::LoadOp::create(b_, type, from, align);
    }
    Vec<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t at = (step > 0 ? lane : lanes - 1 - lane) * distance;
      const bool isEarlier = at < begin;
      order.push_back(isEarlier ? lane : lanes + std::min(at - begin, lanes - 1));
    }
    chosen = vector::ShuffleOp::create(b_, chosen ? chosen : part, part, order);
  }
  if (element.isInteger(1))
    chosen = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, chosen, zeroOf(type));
  return chosen;
}

void TileLowering::storeLanes(Type element, Value v, Value addresses, Value mask) {
  if (isPacked(element)) return storePackedLanes(v, addresses, mask);
  const int64_t lanes = cast<VectorType>(addresses.getType()).getDimSize(0);
  auto type = VectorType::get({lanes}, inMemoryElement(element));
  if (!mask) mask = splat(arith::ConstantOp::create(b_, b_.getBoolAttr(true)), lanes);
  if (element.isInteger(1)) v = arith::ExtUIOp::create(b_, type, v);
  unsigned align = std::max(1u, type.getElementTypeBitWidth() / 8);
  LLVM::masked_scatter::create(b_, v, addresses, mask, b_.getI32IntegerAttr(align));
}

Value TileLowering::loadWindow(const Window &w, Indices at, int64_t lanes, Mode mode) {
  Type element = w.view.element;
  Value first = windowAddress(w, at), mask;
  if (!mode.inside && !w.inBounds) {
    Present part = presentPart(w);
    if (lanes > 1 && vectorsAreWhole_)
      return loadIf(intervalMask(part.lower, part.upper, at, 0, part.row), element, first, lanes);
    if (lanes > 1 && w.isContiguous() && isConstantIntValue(part.lower.back(), 0)) {
      // A masked load without active lanes is slow at an address without memory (a microcode assist of 100 ns
      // on a Zen 4), and there may be none past the tensor: use the address of the tensor's first element
      // instead.
      Value count = leadingCount(part.lower, part.upper, at, lanes, part.row);
      Value isEmpty = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, count, constant(0));
      first = arith::SelectOp::create(b_, isEmpty, w.view.data, first);
      mask = rangeMask(constant(0), {}, count, lanes);
    } else {
      mask = intervalMask(part.lower, part.upper, at, lanes, part.row);
    }
  } else if (mode.count && lanes > 1) { // one element is that of the first lane
    mask = rangeMask(constant(0), {}, mode.count, lanes);
  }
  if (!lanes || w.isContiguous()) return load(element, first, lanes, mask);
  auto stride = getConstantIntValue(w.view.strides[w.dimOfAxis.back()]);
  if (!mask && stride && lanes > 1 && tile::isShortStride(*stride))
    return loadStrided(element, first, *stride, lanes);
  // A column is gathered.
  return loadLanes(element, stridedAddresses(first, w.view.strides[w.dimOfAxis.back()], element, lanes),
                   mask);
}

Value TileLowering::loadIf(Value condition, Type element, Value address, int64_t lanes) {
  Type type = VectorType::get({lanes}, inMemoryElement(element));
  auto branch = scf::IfOp::create(b_, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b_, load(element, address, lanes));
  b_.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b_, zeroOf(type));
  return branch.getResult(0);
}

TileLowering::Present TileLowering::storedPart(const Window &w, ValueRange lower, ValueRange upper) {
  Present part;
  if (!w.inBounds) part = presentPart(w);
  if (upper.empty()) return part;
  Vec<Value> lo = mappedScalars(lower), hi = mappedScalars(upper);
  for (auto [d, other] : llvm::enumerate(part.lower))
    lo[d] = b_.createOrFold<arith::MaxSIOp>(lo[d], other);
  for (auto [d, other] : llvm::enumerate(part.upper))
    hi[d] = b_.createOrFold<arith::MinSIOp>(hi[d], other);
  part.lower = lo, part.upper = hi;
  return part;
}

void TileLowering::storeWindow(const Window &w, Value v, Indices at, Mode mode, ValueRange lower,
                               ValueRange upper, Value flags) {
  Type element = w.view.element;
  auto vector = dyn_cast<VectorType>(v.getType());
  int64_t lanes = vector ? vector.getDimSize(0) : 0;
  Value first = windowAddress(w, at);
  if (mode.inside && mode.count && !flags && w.isContiguous() && !isPacked(element))
    return storeLeading(element, v, first, mode.count);
  bool isMasked = !mode.inside && (!w.inBounds || !upper.empty());
  Present part;
  if (isMasked) part = storedPart(w, lower, upper);
  if (lanes > 1 && isMasked && vectorsAreWhole_) {
    auto branch = scf::IfOp::create(b_, TypeRange(), intervalMask(part.lower, part.upper, at, 0, part.row),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    return storeWhole(w.view, v, first);
  }
  if (lanes && isMasked && !flags && w.isContiguous() && !isPacked(element) &&
      isConstantIntValue(part.lower.back(), 0)) {
    Value count = leadingCount(part.lower, part.upper, at, lanes, part.row);
    return storeLeading(element, v, first, count);
  }
  Value mask = isMasked ? intervalMask(part.lower, part.upper, at, lanes, part.row) : Value();
  if (mode.inside && mode.count) mask = rangeMask(constant(0), {}, mode.count, lanes);
  mask = both(mask, flags);
  if (lanes && !mask && w.isContiguous()) return storeWhole(w.view, v, first);
  if (!lanes || w.isContiguous()) return store(element, v, first, mask);
  storeLanes(element, v, stridedAddresses(first, w.view.strides[w.dimOfAxis.back()], element, lanes), mask);
}

// ---- Ops

/// Stores a tile in memory whose last axis is a whole dim of a contiguous tensor as if that axis and the one
/// before it were one: a row of two elements fills no vector. Bounds that begin at 0 and leave the last axis
/// whole are ends of the tensor. Returns false for other stores.
bool TileLowering::storeMerged(tile::StoreOp op, const Window &w) {
  auto shape = tile::tileType(op.getValue()).getShape();
  const size_t dims = w.starts.size(), rank = shape.size();
  if (!tile::inMemory(op.getValue()) || op.getFlags() || rank < 2 || dims < 2) return false;
  const int64_t columns = shape.back();
  auto is = [](Value v, int64_t number) { return getConstantIntValue(v) == number; };
  const bool hasBounds = !op.getLower().empty();
  if (hasBounds && (!llvm::all_of(op.getLower(), [&](Value lo) { return is(lo, 0); }) ||
                    !is(op.getUpper().back(), columns)))
    return false;
  if (w.extents[dims - 1] != columns || w.extents[dims - 2] < 0 || !is(w.view.sizes[dims - 1], columns) ||
      !is(w.starts[dims - 1], 0) || !is(w.view.strides[dims - 1], 1) ||
      !is(w.view.strides[dims - 2], columns))
    return false;
  Window merged = w;
  for (size_t axis = 0; hasBounds && axis + 1 < rank; ++axis) {
    const size_t dim = w.dimOfAxis[axis];
    Value most = b_.createOrFold<arith::MinSIOp>(scalar(op.getUpper()[axis]), constant(shape[axis]));
    Value end = b_.createOrFold<arith::AddIOp>(w.starts[dim], most);
    merged.view.sizes[dim] = b_.createOrFold<arith::MinSIOp>(w.view.sizes[dim], end);
    merged.inBounds = false;
  }
  Place from = place(op.getValue());
  auto times = [&](Value v) { return b_.createOrFold<arith::MulIOp>(v, constant(columns)); };
  merged.view.sizes[dims - 2] = times(merged.view.sizes[dims - 2]);
  merged.view.strides[dims - 2] = constant(1);
  Value start = w.starts[dims - 2];
  if (!w.inBounds) { // far outside, the products would wrap
    start = b_.createOrFold<arith::MaxSIOp>(start, constant(-w.extents[dims - 2]));
    start = b_.createOrFold<arith::MinSIOp>(start, w.view.sizes[dims - 2]);
  }
  merged.starts[dims - 2] = times(start);
  merged.extents[dims - 2] *= columns;
  from.shape[rank - 2] *= columns;
  for (auto *values : {&merged.view.sizes, &merged.view.strides, &merged.starts})
    values->pop_back();
  merged.extents.pop_back();
  merged.nonNegative.pop_back();
  merged.dimOfAxis.pop_back();
  from.shape.pop_back();
  Part part;
  if (!merged.inBounds) part.ends = windowEnds(merged);
  part.inside = part.ends.empty() ? insideCondition(merged) : isAligned(merged);
  nestPart(from.shape, lanesFor(op.getValue()), part, [&](Indices at, int64_t lanes, Mode mode) {
    storeWindow(merged, loadPlace(from, at, lanes), at, mode);
  });
  return true;
}

LogicalResult TileLowering::lowerStore(tile::StoreOp op) {
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  if (storeMerged(op, w)) return success();
  auto shape = tile::tileType(op.getValue()).getShape();
  Part part;
  if (!w.inBounds) part.ends = windowEnds(w);
  // Without ends it is promised to be inside, or it may begin before the tensor.
  part.inside = part.ends.empty() ? insideCondition(w) : isAligned(w);
  if (!op.getLower().empty()) {
    if (part.ends.empty()) part.ends = constants(shape);
    cutEnds(part.ends, op.getUpper());
    part.inside = both(part.inside, boundsFull(op.getLower(), op.getUpper(), part.ends));
  }
  Vec<Value> roots = {op.getValue()};
  if (op.getFlags()) roots.push_back(op.getFlags());
  part.inside = both(part.inside, insideCondition(roots, part.ends));
  if (part.inside) part.interior = interiorOf(op, w);
  part.vectors = vectorsFor(roots);
  if (part.vectors > 1 && part.inside) part.inVectors = areVectorsWhole(op, w, part.vectors);
  nestPart(shape, lanesFor(roots), part, [&](Indices at, int64_t lanes, Mode mode) {
    Value flags = op.getFlags() ? evaluate(op.getFlags(), at, lanes, mode) : Value();
    storeWindow(w, evaluate(op.getValue(), at, lanes, mode), at, mode, op.getLower(), op.getUpper(), flags);
  });
  return success();
}

LogicalResult TileLowering::lowerCopy(tile::CpAsyncOp op) {
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  Place to = bufferPlace(op.getBuffer());
  auto shape = tile::tileShape(op.getExtents());
  int64_t lanes = lanesFor({}, {to.element});
  versioned(insideCondition(w), [&](Mode mode) {
    nest(shape, lanes,
         [&](Indices at, int64_t width) { storePlace(to, loadWindow(w, at, width, mode), at); });
  });
  return success();
}

LogicalResult TileLowering::lowerBufferWrite(tile::BufferWriteOp op) {
  auto shape = tile::tileType(op.getValue()).getShape();
  if (op.getStarts().empty()) {
    Place to = bufferPlace(op.getBuffer());
    versioned(insideCondition(ValueRange(op.getValue())), [&](Mode mode) {
      nest(shape, lanesFor(op.getValue()),
           [&](Indices at, int64_t lanes) { storePlace(to, evaluate(op.getValue(), at, lanes, mode), at); });
    });
    return success();
  }
  Window w = bufferWindow(op.getBuffer(), op.getStarts(), *op.getExtents());
  nest(
      shape, lanesFor(op.getValue()),
      [&](Indices at, int64_t lanes) {
        storeWindow(w, evaluate(op.getValue(), at, lanes, {false}), at, {false});
      },
      observedEnds(op.getValue(), op));
  return success();
}

/// i1: every index is inside its dim. Null if that is known (the lane's own index in a tensor of as many
/// elements).
Value TileLowering::inRange(const View &view, ValueRange indices) {
  Value all;
  for (auto [index, size] : llvm::zip(indices, view.sizes)) {
    if (index == laneIndex_ && size == laneLimit_) continue;
    Value inside = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, index, size);
    all = all ? arith::AndIOp::create(b_, all, inside).getResult() : inside;
  }
  if (laneActive_) all = all ? arith::AndIOp::create(b_, all, laneActive_).getResult() : laneActive_;
  return all;
}

Value TileLowering::elementAddress(const View &view, ValueRange indices) {
  Value linear;
  for (auto [index, stride] : llvm::zip(indices, view.strides)) {
    Value term = b_.createOrFold<arith::MulIOp>(index, stride);
    linear = linear ? b_.createOrFold<arith::AddIOp>(linear, term) : term;
  }
  return address(view.data, linear, view.element);
}

LogicalResult TileLowering::lowerLoadElem(tile::LoadElemOp op) {
  const View view = views_[op.getView()];
  Vec<Value> indices = mappedScalars(op.getIndices());
  Value inside = op.getInBounds() ? laneActive_ : inRange(view, indices);
  auto read = [&] { return load(view.element, elementAddress(view, indices), 0, inside); };
  map_.map(op.getResult(), mayChange(view) ? onceValue(read) : read());
  return success();
}

LogicalResult TileLowering::lowerStoreElem(tile::StoreElemOp op) {
  const View view = views_[op.getView()];
  Vec<Value> indices = mappedScalars(op.getIndices());
  Value inside = op.getInBounds() ? laneActive_ : inRange(view, indices);
  once([&] { store(view.element, scalar(op.getValue()), elementAddress(view, indices), inside); });
  return success();
}

} // namespace tessera::target
