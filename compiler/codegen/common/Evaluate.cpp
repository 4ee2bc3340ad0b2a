// Elements of tile values that are computed on the fly: either a vector of `lanes` consecutive elements of
// the last axis from `at` on, or the one element at `at` as a scalar.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numeric>

using namespace mlir;

namespace tessera::target {

Type TileLowering::vectorOf(Type element, int64_t lanes) {
  Type scalar = registerElement(element);
  return lanes ? Type(VectorType::get({lanes}, scalar)) : scalar;
}

/// An attribute of one element as a constant of `type`, which is the element's type or a vector of it.
Value TileLowering::constantOf(Type type, Attribute element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b_, DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(b_, cast<TypedAttr>(element));
}

Value TileLowering::splat(Value scalar, int64_t lanes) {
  if (!lanes) return scalar;
  return vector::BroadcastOp::create(b_, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value TileLowering::lane(Value vector, int64_t i) {
  return isa<VectorType>(vector.getType()) ? vector::ExtractOp::create(b_, vector, i).getResult() : vector;
}

Value TileLowering::laneIndices(Value first, int64_t lanes) {
  if (!first.getType().isInteger(32)) first = b_.createOrFold<arith::IndexCastOp>(b_.getI32Type(), first);
  if (!lanes) return first;
  Vec<int32_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  auto type = VectorType::get({lanes}, b_.getI32Type());
  Value iota = arith::ConstantOp::create(b_, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  return b_.createOrFold<arith::AddIOp>(splat(first, lanes), iota);
}

/// Is it computed where it is used?
static bool isEvaluated(Value v) { return tile::isTile(v) && !tile::inMemory(v) && !tile::isInRegisters(v); }

Value TileLowering::insideCondition(ValueRange roots, Indices ends) {
  Value condition;
  Collected seen;
  for (Value v : roots)
    if (isEvaluated(v)) collectInside(v.getDefiningOp(), ends, condition, seen);
  return condition;
}

Value TileLowering::insideCondition(Operation *op, Indices ends) {
  Value condition;
  Collected seen;
  collectInside(op, ends, condition, seen);
  return condition;
}

/// Returns `ends` of the op's result restricted to the axes that its operand has.
void TileLowering::collectInside(Operation *op, Indices ends, Value &condition, Collected &seen) {
  if (!seen.insert({op, ends.empty()}).second) return;
  auto also = [&](Value c) { condition = both(condition, c); };
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return also(insideCondition(
        window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds()), ends));
  if (auto read = dyn_cast<tile::BufferReadOp>(op); read && !read.getStarts().empty())
    return also(insideCondition(bufferWindow(read.getBuffer(), read.getStarts(), *read.getExtents()), ends));
  Vec<Value> inner(ends);
  if (auto mask = dyn_cast<tile::MaskOp>(op)) {
    if (ends.empty()) inner = constants(tile::tileType(mask.getResult()).getShape());
    also(boundsFull(mask.getLower(), mask.getUpper(), inner));
  } else if (auto expand = dyn_cast<tile::ExpandDimsOp>(op); expand && !ends.empty()) {
    inner.erase(inner.begin() + expand.getAxis());
  } else if (isa<tile::SliceOp, tile::PairRowsOp>(op)) {
    inner.clear(); // several parts of a tile have several ends in it
  } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op); broadcast && !ends.empty()) {
    if (!tile::isTile(broadcast.getInput())) return;
    for (auto [end, extent] : llvm::zip(inner, tile::tileType(broadcast.getInput()).getShape()))
      if (extent == 1) end = constant(1);
  }
  for (Value operand : op->getOperands())
    if (isEvaluated(operand)) collectInside(operand.getDefiningOp(), inner, condition, seen);
}

Value TileLowering::evaluate(Value v, Indices at, int64_t lanes, Mode mode) {
  if (!tile::isTile(v)) return splat(scalar(v), lanes);
  if (tile::isInRegisters(v)) return heldElement(v);
  if (tile::inMemory(v)) return loadPlace(place(v), at, lanes);
  if (v.hasOneUse()) return evaluateElementwise(v.getDefiningOp(), at, lanes, mode);
  EvaluatedScope scope(*this);
  for (const Evaluated &known : evaluated_)
    if (known.value == v && known.lanes == lanes && known.inside == mode.inside &&
        known.block == b_.getInsertionBlock() && ArrayRef<Value>(known.at) == ArrayRef<Value>(at))
      return known.result;
  Value result = evaluateElementwise(v.getDefiningOp(), at, lanes, mode);
  evaluated_.push_back({v, Vec<Value>(at), lanes, mode.inside, b_.getInsertionBlock(), result});
  return result;
}

Value TileLowering::convert(Value v, DType from, DType to) {
  return tile::emitCast(b_, b_.getLoc(), v, from, to);
}

/// Is the divisor, or a condition that guards it, loaded from the place of a tile? Such a tile has anything
/// where nothing observes it, so that the divisor may be zero there.
static bool isDivisorInMemory(Value v) {
  if (!tile::isTile(v)) return false;
  if (tile::inMemory(v)) return true;
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<tile::BroadcastOp, tile::ExpandDimsOp, tile::SliceOp>(op))
    return isDivisorInMemory(op->getOperand(0));
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  if (!select) return false; // a program's own guards are selects
  const bool isGuardedTwice = isa_and_nonnull<arith::SelectOp>(select.getFalseValue().getDefiningOp());
  return isDivisorInMemory(select.getCondition()) ||
         (isGuardedTwice && isDivisorInMemory(select.getFalseValue()));
}

/// Makes the divisor of `division`, which computes elements that may not be observed, 1 where the processor
/// would end the program.
void TileLowering::guardDivision(Operation *op, OperationState &division) {
  const bool isSigned = isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::RemSIOp>(op);
  if (!divisionTraps() || !(isSigned || isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op)) ||
      !isDivisorInMemory(op->getOperand(1)))
    return;
  Value x = division.operands[0], y = division.operands[1];
  auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(y.getType()));
  if (!element) return;
  auto number = [&](const APInt &n) { return constantOf(y.getType(), b_.getIntegerAttr(element, n)); };
  auto isEqual = [&](Value v, const APInt &n) {
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, v, number(n)).getResult();
  };
  const unsigned width = element.getWidth();
  Value isUnsafe = isEqual(y, APInt::getZero(width));
  if (isSigned) {
    Value overflows = arith::AndIOp::create(b_, isEqual(x, APInt::getSignedMinValue(width)),
                                            isEqual(y, APInt::getAllOnes(width)));
    isUnsafe = arith::OrIOp::create(b_, isUnsafe, overflows);
  }
  division.operands[1] = arith::SelectOp::create(b_, isUnsafe, number(APInt(width, 1)), y);
}

Value TileLowering::evaluateElementwise(Operation *op, Indices at, int64_t lanes, Mode mode) {
  using namespace tile;
  EvaluatedScope scope(*this);
  if (auto load = dyn_cast<LoadOp>(op)) {
    const Window w = window(load.getView(), load.getStarts(), load.getExtents(), load.getInBounds());
    fetchAhead(load, w, at);
    return loadWindow(w, at, lanes, mode);
  }
  if (auto gather = dyn_cast<GatherOp>(op)) return evaluateGather(gather, at, lanes);
  if (auto read = dyn_cast<BufferReadOp>(op)) {
    if (read.getStarts().empty()) return loadPlace(bufferPlace(read.getBuffer()), at, lanes);
    return loadWindow(bufferWindow(read.getBuffer(), read.getStarts(), *read.getExtents()), at, lanes, mode);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constantVector(cast<DenseElementsAttr>(constant.getValue()), at, lanes);
  if (auto iota = dyn_cast<IotaOp>(op)) {
    Value position = b_.createOrFold<arith::IndexCastOp>(b_.getI32Type(), at[0]);
    return laneIndices(b_.createOrFold<arith::AddIOp>(position, scalar(iota.getStart())), lanes);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) return evaluateBroadcast(broadcast, at, lanes, mode);
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    Vec<Value> from(at);
    from.erase(from.begin() + expand.getAxis());
    return evaluate(expand.getInput(), from, lanes, mode); // the new last axis has one lane
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Vec<Value> from(at);
    for (auto [index, offset] : llvm::zip_equal(from, slice.getOffsets()))
      index = b_.createOrFold<arith::AddIOp>(index, constant(offset));
    return evaluate(slice.getInput(), from, lanes, mode);
  }
  if (auto pairs = dyn_cast<PairRowsOp>(op)) {
    Value row = b_.createOrFold<arith::MulIOp>(at[0], constant(2));
    auto element = [&](Value r) {
      Value v = evaluate(pairs.getInput(), {r, at[1]}, lanes, mode);
      return arith::ExtUIOp::create(b_, vectorOf(b_.getI32Type(), lanes), v).getResult();
    };
    Value first = element(row), second = element(b_.createOrFold<arith::AddIOp>(row, constant(1)));
    Value half = constantOf(first.getType(), b_.getI32IntegerAttr(16));
    return arith::OrIOp::create(b_, arith::ShLIOp::create(b_, first, half), second);
  }
  if (auto mask = dyn_cast<MaskOp>(op)) return evaluateMask(mask, at, lanes, mode);
  if (auto cast = dyn_cast<CastOp>(op))
    return convert(evaluate(cast.getInput(), at, lanes, mode), *parseDType(cast.getFrom()),
                   *parseDType(cast.getTo()));
  if (auto rand = dyn_cast<RandOp>(op))
    return evaluateRand(rand, scalar(rand.getSeed()), evaluate(rand.getOffset(), at, lanes, mode), lanes);

  OperationState state(b_.getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(evaluate(operand, at, lanes, mode));
  guardDivision(op, state);
  state.addTypes(vectorOf(tileType(op->getResult(0)).getElementType(), lanes));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b_.create(state)->getResult(0);
}

Value TileLowering::evaluateBroadcast(tile::BroadcastOp op, Indices at, int64_t lanes, Mode mode) {
  Value from = op.getInput();
  if (!tile::isTile(from)) return splat(scalar(from), lanes);
  auto shape = tile::tileType(from).getShape();
  auto target = tile::tileType(op.getResult()).getShape();
  Vec<Value> index(at);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1 && target[d] != 1) index[d] = constant(0);
  if (lanes && shape.back() == 1 && target.back() != 1)
    return splat(lane(evaluate(from, index, lanesOfOne(), mode), 0), lanes);
  return evaluate(from, index, lanes, mode);
}

Value TileLowering::evaluateMask(tile::MaskOp op, Indices at, int64_t lanes, Mode mode) {
  Value inner = evaluate(op.getInput(), at, lanes, mode);
  if (mode.inside) return inner;
  Value inside;
  if (lanes > 1 && tile::tileType(op.getResult()).getShape().back() == 1) { // a column
    Vec<Value> lower = mappedScalars(op.getLower()), upper = mappedScalars(op.getUpper());
    Value row = rangeMask(at.back(), lower.back(), upper.back(), 0);
    inside = intervalMask(Indices(lower).drop_back(), Indices(upper).drop_back(), at.drop_back(), lanes, row);
  } else {
    inside = boundsMask(op.getLower(), op.getUpper(), at, lanes);
  }
  return arith::SelectOp::create(b_, inside, inner, splat(scalar(op.getFill()), lanes));
}

Value TileLowering::constantVector(DenseElementsAttr attr, Indices at, int64_t lanes) {
  auto splatAttr = [&](Attribute element) -> Value {
    Type type = registerElement(attr.getElementType());
    APInt bits = isa<FloatAttr>(element) ? cast<FloatAttr>(element).getValue().bitcastToAPInt()
                                         : cast<IntegerAttr>(element).getValue();
    if (auto f = dyn_cast<FloatType>(type))
      return constantOf(vectorOf(type, lanes), FloatAttr::get(f, APFloat(f.getFloatSemantics(), bits)));
    const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    return constantOf(vectorOf(type, lanes), IntegerAttr::get(type, bits.zextOrTrunc(width)));
  };
  if (attr.isSplat()) return splatAttr(attr.getSplatValue<Attribute>());
  // Folding turned it into a table: select the elements by comparing the linear index.
  auto shape = cast<ShapedType>(attr.getType()).getShape();
  Value linear = at[0];
  for (size_t d = 1; d < shape.size(); ++d)
    linear =
        b_.createOrFold<arith::AddIOp>(b_.createOrFold<arith::MulIOp>(linear, constant(shape[d])), at[d]);
  Value positions = laneIndices(linear, lanes), result;
  for (auto [i, element] : llvm::enumerate(attr.getValues<Attribute>())) {
    Value candidate = splatAttr(element);
    if (!result) {
      result = candidate;
      continue;
    }
    Value here = splat(arith::ConstantOp::create(b_, b_.getI32IntegerAttr(i)), lanes);
    Value hit = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, positions, here);
    result = arith::SelectOp::create(b_, hit, candidate, result);
  }
  return result;
}

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
Value TileLowering::evaluateRand(tile::RandOp op, Value seed, Value offset, int64_t lanes) {
  Type v32 = vectorOf(b_.getI32Type(), lanes), v64 = vectorOf(b_.getI64Type(), lanes);
  // In vectors a word is the lower half of a lane of 64 bits: a product needs no widening, and nothing reads
  // the upper half.
  const Type type = lanes ? v64 : v32;
  auto number = [&](Type t, uint64_t c) {
    return constantOf(t, b_.getIntegerAttr(getElementTypeOrSelf(t), static_cast<int64_t>(c)));
  };
  auto c32 = [&](uint32_t c) { return number(v32, static_cast<uint64_t>(static_cast<int32_t>(c))); };
  auto c64 = [&](uint64_t c) { return number(v64, c); };
  auto constant = [&](uint32_t c) { return lanes ? c64(c) : c32(c); };
  auto low = [&](Value x) -> Value { return lanes ? x : arith::TruncIOp::create(b_, v32, x).getResult(); };
  auto high = [&](Value x) -> Value { return low(arith::ShRUIOp::create(b_, x, c64(32))); };
  auto product = [&](Value x, uint32_t m) -> Value {
    Value wide = lanes ? b_.createOrFold<arith::AndIOp>(x, c64(UINT32_MAX))
                       : arith::ExtUIOp::create(b_, v64, x).getResult();
    return b_.createOrFold<arith::MulIOp>(wide, c64(m));
  };
  auto bitXor = [&](Value x, Value y) -> Value { return arith::XOrIOp::create(b_, x, y); };
  if (!isa<VectorType>(seed.getType())) seed = splat(seed, lanes);
  Value c0 = low(offset), c1 = high(offset), c2 = number(type, 0), c3 = c2, k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    Value p0 = product(c0, 0xD2511F53), p1 = product(c2, 0xCD9E8D57);
    Value n0 = bitXor(bitXor(high(p1), c1), k0), n2 = bitXor(bitXor(high(p0), c3), k1);
    c1 = low(p1), c3 = low(p0), c0 = n0, c2 = n2;
    k0 = b_.createOrFold<arith::AddIOp>(k0, constant(0x9E3779B9));
    k1 = b_.createOrFold<arith::AddIOp>(k1, constant(0xBB67AE85));
  }
  const Value words[] = {c0, c1, c2, c3};
  Value word = words[op.getWord()];
  if (lanes) word = arith::TruncIOp::create(b_, v32, word);
  if (getElementTypeOrSelf(op.getResult().getType()).isInteger()) return word;
  Type vf = vectorOf(b_.getF32Type(), lanes);
  Value bits = arith::ShRUIOp::create(b_, word, c32(8));
  Value scale = constantOf(vf, b_.getF32FloatAttr(0x1p-24f));
  return arith::MulFOp::create(b_, arith::UIToFPOp::create(b_, vf, bits), scale);
}

} // namespace tessera::target
