#include "compiler/tile/IR/TileBuilder.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "numerics/Casts.h"

using namespace mlir;

namespace tessera::tile {

static bool hasNoSign(DType dtype) { return dtype == DType::Bool || isUnsigned(dtype); }

Type TileBuilder::scalarType(DType dtype) const { return elementTypeInValues(b_.getContext(), dtype); }

Type TileBuilder::tileType(DType dtype, ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, scalarType(dtype));
}

Value TileBuilder::constant(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(b_.getFloatAttr(element, static_cast<double>(value)))
                                           : TypedAttr(b_.getIntegerAttr(element, value));
  if (auto tile = dyn_cast<RankedTensorType>(type)) attr = SplatElementsAttr::get(tile, Attribute(attr));
  return arith::ConstantOp::create(b_, loc_, attr);
}

Value TileBuilder::constant(Type type, double value) {
  TypedAttr attr = b_.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto tile = dyn_cast<RankedTensorType>(type)) attr = SplatElementsAttr::get(tile, Attribute(attr));
  return arith::ConstantOp::create(b_, loc_, attr);
}

Value TileBuilder::real(double value, DType dtype) {
  auto type = mlir::cast<FloatType>(scalarType(dtype));
  llvm::APInt bits(type.getWidth(), fromDouble(value, dtype), false, /*implicitTrunc=*/true);
  auto attr = FloatAttr::get(type, llvm::APFloat(type.getFloatSemantics(), bits));
  return arith::ConstantOp::create(b_, loc_, attr);
}

Value TileBuilder::broadcast(Value value, Type type) {
  if (value.getType() == type) return value;
  return BroadcastOp::create(b_, loc_, type, value);
}

Value TileBuilder::toIndex(Value integer) {
  Type type = b_.getIndexType();
  if (auto tile = dyn_cast<RankedTensorType>(integer.getType())) type = tile.clone(type);
  return b_.createOrFold<arith::IndexCastOp>(loc_, type, integer);
}

Value TileBuilder::toI64(Value index) {
  return b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI64Type(), index);
}

Value TileBuilder::compareInts(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b_, loc_, predicate, x, y);
}

Value TileBuilder::compareFloats(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b_, loc_, predicate, x, y);
}

Value TileBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b_, loc_, condition, x, y);
}

Value TileBuilder::neg(DType dtype, Value x) {
  if (isFloat(dtype)) return arith::NegFOp::create(b_, loc_, x);
  return arith::SubIOp::create(b_, loc_, constant(x.getType(), int64_t{0}), x);
}

Value TileBuilder::abs(DType dtype, Value x) {
  if (isFloat(dtype)) return math::AbsFOp::create(b_, loc_, x);
  if (hasNoSign(dtype)) return x;
  return arith::MaxSIOp::create(b_, loc_, x, neg(dtype, x));
}

Value TileBuilder::invert(Value x) {
  return arith::XOrIOp::create(b_, loc_, x, constant(x.getType(), int64_t{-1}));
}

Value TileBuilder::add(DType dtype, Value x, Value y) {
  if (isFloat(dtype)) return arith::AddFOp::create(b_, loc_, x, y);
  return arith::AddIOp::create(b_, loc_, x, y);
}

Value TileBuilder::sub(DType dtype, Value x, Value y) {
  if (isFloat(dtype)) return arith::SubFOp::create(b_, loc_, x, y);
  return arith::SubIOp::create(b_, loc_, x, y);
}

Value TileBuilder::mul(DType dtype, Value x, Value y) {
  if (isFloat(dtype)) return arith::MulFOp::create(b_, loc_, x, y);
  return arith::MulIOp::create(b_, loc_, x, y);
}

Value TileBuilder::div(Value x, Value y) { return arith::DivFOp::create(b_, loc_, x, y); }

Value TileBuilder::floorDiv(DType dtype, Value x, Value y) {
  return isFloat(dtype) ? floatFloorDiv(x, y) : divideInts(dtype, x, y, /*isRemainder=*/false);
}

Value TileBuilder::mod(DType dtype, Value x, Value y) {
  return isFloat(dtype) ? floatMod(x, y) : divideInts(dtype, x, y, /*isRemainder=*/true);
}

Value TileBuilder::fmod(Value x, Value y) { return arith::RemFOp::create(b_, loc_, x, y); }

Value TileBuilder::multiplyHigh(Value x, Value y) {
  Type type = x.getType();
  const int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth(), half = bits / 2;
  auto multiply = [&](Value a, Value b) { return arith::MulIOp::create(b_, loc_, a, b).getResult(); };
  auto add = [&](Value a, Value b) { return arith::AddIOp::create(b_, loc_, a, b).getResult(); };
  auto upper = [&](Value v, int64_t by) {
    return arith::ShRUIOp::create(b_, loc_, v, constant(v.getType(), by)).getResult();
  };
  if (bits < 64) {
    Type element = b_.getIntegerType(2 * bits);
    auto tile = dyn_cast<RankedTensorType>(type);
    Type wide = tile ? Type(tile.clone(element)) : element;
    Value product =
        multiply(arith::ExtUIOp::create(b_, loc_, wide, x), arith::ExtUIOp::create(b_, loc_, wide, y));
    return arith::TruncIOp::create(b_, loc_, type, upper(product, bits));
  }
  // Vectors have no wider multiplication: four products of halves.
  auto lower = [&](Value v) {
    return arith::AndIOp::create(b_, loc_, v, constant(type, (int64_t{1} << half) - 1)).getResult();
  };
  Value middle = add(multiply(upper(x, half), lower(y)), upper(multiply(lower(x), lower(y)), half));
  Value other = add(multiply(lower(x), upper(y, half)), lower(middle));
  return add(multiply(upper(x, half), upper(y, half)), add(upper(middle, half), upper(other, half)));
}

Value TileBuilder::pow(DType dtype, Value x, Value y) {
  return isFloat(dtype) ? floatPow(x, y) : intPow(dtype, x, y);
}

Value TileBuilder::minimum(DType dtype, Value x, Value y) {
  if (isFloat(dtype)) return arith::MinimumFOp::create(b_, loc_, x, y);
  if (hasNoSign(dtype)) return arith::MinUIOp::create(b_, loc_, x, y);
  return arith::MinSIOp::create(b_, loc_, x, y);
}

Value TileBuilder::maximum(DType dtype, Value x, Value y) {
  if (isFloat(dtype)) return arith::MaximumFOp::create(b_, loc_, x, y);
  if (hasNoSign(dtype)) return arith::MaxUIOp::create(b_, loc_, x, y);
  return arith::MaxSIOp::create(b_, loc_, x, y);
}

Value TileBuilder::shl(DType dtype, Value x, Value y) { return shift(dtype, x, y, /*isLeft=*/true); }
Value TileBuilder::shr(DType dtype, Value x, Value y) { return shift(dtype, x, y, /*isLeft=*/false); }

/// Returns the constant that a value is, also if it is broadcast.
static Attribute literal(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr))) return {};
  if (auto splat = dyn_cast<SplatElementsAttr>(attr)) return splat.getSplatValue<Attribute>();
  return attr;
}

static std::optional<int64_t> literalInt(Value value, DType dtype) {
  auto attr = dyn_cast_if_present<IntegerAttr>(literal(value));
  if (!attr) return std::nullopt;
  return hasNoSign(dtype) ? static_cast<int64_t>(attr.getValue().getZExtValue())
                          : attr.getValue().getSExtValue();
}

Value TileBuilder::compare(Relation relation, DType dtype, Value x, Value y) {
  auto column = static_cast<size_t>(relation);
  if (isFloat(dtype)) {
    using P = arith::CmpFPredicate;
    static constexpr P predicates[] = {P::OLT, P::OLE, P::OGT, P::OGE, P::OEQ, P::UNE};
    return compareFloats(predicates[column], x, y);
  }
  using P = arith::CmpIPredicate;
  static constexpr P signedOnes[] = {P::slt, P::sle, P::sgt, P::sge, P::eq, P::ne};
  static constexpr P unsignedOnes[] = {P::ult, P::ule, P::ugt, P::uge, P::eq, P::ne};
  return compareInts((hasNoSign(dtype) ? unsignedOnes : signedOnes)[column], x, y);
}

Value TileBuilder::cast(Value x, DType from, DType to) {
  Type type = scalarType(to);
  if (auto tile = dyn_cast<RankedTensorType>(x.getType())) type = tile.clone(type);
  return CastOp::create(b_, loc_, type, x, name(from), name(to));
}

Value TileBuilder::reduce(ReduceKind kind, DType dtype, Value x, int64_t axis) {
  auto tile = mlir::cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(tile.getShape());
  shape.erase(shape.begin() + axis);
  Type element = tile.getElementType(),
       type = shape.empty() ? element : RankedTensorType::get(shape, element);
  return ReduceOp::create(b_, loc_, type, kind, x, axis, hasNoSign(dtype), OrderAttr());
}

Value TileBuilder::mma(DType operands, Value a, Value b, Value accumulator, bool transposeA,
                       bool transposeB) {
  return MmaOp::create(b_, loc_, accumulator.getType(), a, b, accumulator, ValueRange(), transposeA,
                       transposeB, isUnsigned(operands), FragmentAttr(), false);
}

/// Does the access read or write a tile, rather than one element?
static bool hasExtent(ArrayRef<int64_t> extents) {
  return llvm::any_of(extents, [](int64_t extent) { return extent >= 0; });
}

static bool hasTile(ValueRange indices) {
  return llvm::any_of(indices, [](Value v) { return isa<RankedTensorType>(v.getType()); });
}

Value TileBuilder::load(Value view, ValueRange starts, ArrayRef<int64_t> extents) {
  Type element = loadedElementType(memoryElement(view.getType()));
  if (hasTile(starts)) {
    auto type = RankedTensorType::get(gatherAxes(starts, extents).shape, element);
    return GatherOp::create(b_, loc_, type, view, starts, extents);
  }
  if (!hasExtent(extents)) return LoadElemOp::create(b_, loc_, element, view, starts, UnitAttr());
  SmallVector<int64_t> shape;
  llvm::copy_if(extents, std::back_inserter(shape), [](int64_t extent) { return extent >= 0; });
  return LoadOp::create(b_, loc_, RankedTensorType::get(shape, element), view, starts,
                        b_.getDenseI64ArrayAttr(extents), UnitAttr());
}

void TileBuilder::store(Value value, Value view, ValueRange starts, ArrayRef<int64_t> extents) {
  if (hasTile(starts))
    ScatterOp::create(b_, loc_, value, view, starts, Value(), extents);
  else if (hasExtent(extents))
    StoreOp::create(b_, loc_, value, view, starts, ValueRange(), ValueRange(), Value(),
                    b_.getDenseI64ArrayAttr(extents), UnitAttr());
  else
    StoreElemOp::create(b_, loc_, value, view, starts, UnitAttr());
}

scf::ForOp TileBuilder::loop(Value lo, Value hi, Value step, ValueRange inits,
                             llvm::function_ref<Values(Value, ValueRange)> body) {
  Location loc = loc_;
  auto loop = scf::ForOp::create(b_, loc, lo, hi, step, inits);
  OpBuilder::InsertionGuard guard(b_);
  if (!loop.getBody()->empty()) loop.getBody()->getTerminator()->erase();
  b_.setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b_, loc, next);
  return loop;
}

scf::IfOp TileBuilder::branch(Value condition, TypeRange results, llvm::function_ref<Values()> then,
                              llvm::function_ref<Values()> otherwise) {
  Location loc = loc_;
  bool hasElse = static_cast<bool>(otherwise);
  auto branch = scf::IfOp::create(b_, loc, results, condition, /*addThenBlock=*/true, hasElse);
  OpBuilder::InsertionGuard guard(b_);
  auto fill = [&](Block &block, llvm::function_ref<Values()> side) {
    if (!block.empty()) block.getTerminator()->erase();
    b_.setInsertionPointToEnd(&block);
    Values values = side();
    scf::YieldOp::create(b_, loc, values);
  };
  fill(*branch.thenBlock(), then);
  if (hasElse) fill(*branch.elseBlock(), otherwise);
  return branch;
}

Value TileBuilder::divideInts(DType dtype, Value x, Value y, bool isRemainder) {
  bool isUnsigned = hasNoSign(dtype);
  Type type = x.getType();
  // Division by zero gives 0. Division by -1 would overflow for the smallest integer, so it becomes a
  // negation. A literal divisor is usually neither and needs no guard.
  std::optional<int64_t> known = literalInt(y, dtype);
  bool isSafe = known && *known != 0 && *known != -1;
  Value zero = constant(type, int64_t{0}), one, isZero, isMinusOne, divisor = y;
  if (!isSafe) {
    one = constant(type, int64_t{1});
    isZero = compareInts(arith::CmpIPredicate::eq, y, zero);
    divisor = arith::SelectOp::create(b_, loc_, isZero, one, y);
    if (!isUnsigned) {
      isMinusOne = compareInts(arith::CmpIPredicate::eq, y, constant(type, int64_t{-1}));
      divisor = arith::SelectOp::create(b_, loc_, isMinusOne, one, divisor);
    }
  }

  Value result;
  if (isUnsigned)
    result = !isRemainder ? Value(arith::DivUIOp::create(b_, loc_, x, divisor))
                          : Value(arith::RemUIOp::create(b_, loc_, x, divisor));
  else if (!isRemainder) {
    result = arith::FloorDivSIOp::create(b_, loc_, x, divisor);
    if (!isSafe) {
      Value negated = arith::SubIOp::create(b_, loc_, zero, x);
      result = arith::SelectOp::create(b_, loc_, isMinusOne, negated, result);
    }
  } else {
    // A remainder of the other sign is moved into the divisor's range.
    Value rest = arith::RemSIOp::create(b_, loc_, x, divisor);
    Value isNonZero = compareInts(arith::CmpIPredicate::ne, rest, zero);
    Value signs = arith::XOrIOp::create(b_, loc_, rest, divisor);
    Value differ = compareInts(arith::CmpIPredicate::slt, signs, zero);
    Value move = arith::AndIOp::create(b_, loc_, isNonZero, differ);
    result = arith::SelectOp::create(b_, loc_, move, arith::AddIOp::create(b_, loc_, rest, divisor), rest);
  }
  return isSafe ? result : Value(arith::SelectOp::create(b_, loc_, isZero, zero, result));
}

Value TileBuilder::shift(DType dtype, Value x, Value y, bool isLeft) {
  int64_t width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  bool isSigned = !hasNoSign(dtype);
  std::optional<int64_t> known = literalInt(y, dtype);
  bool isSafe = known && *known >= 0 && *known < width;
  Value tooFar, amount = y;
  if (!isSafe) {
    // Negative amounts are large as unsigned numbers.
    Value last = constant(y.getType(), width - 1);
    tooFar = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ugt, y, last);
    amount = arith::MinUIOp::create(b_, loc_, y, last);
  }
  if (!isLeft && isSigned)
    return arith::ShRSIOp::create(b_, loc_, x, amount); // fills with the sign for any amount
  Value result = isLeft ? Value(arith::ShLIOp::create(b_, loc_, x, amount))
                        : Value(arith::ShRUIOp::create(b_, loc_, x, amount));
  if (isSafe) return result;
  return arith::SelectOp::create(b_, loc_, tooFar, constant(x.getType(), int64_t{0}), result);
}

/// math.ipowi reads its exponent as signed, so unsigned numbers are raised in twice the width, those of 64
/// bits to half of the exponent.
Value TileBuilder::intPow(DType dtype, Value x, Value y) {
  Type type = x.getType();
  if (!hasNoSign(dtype)) return math::IPowIOp::create(b_, loc_, x, y);
  const unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (width == 64) {
    Value one = constant(type, int64_t{1});
    Value half = math::IPowIOp::create(b_, loc_, x, arith::ShRUIOp::create(b_, loc_, y, one));
    Value isOdd = compareInts(arith::CmpIPredicate::ne, arith::AndIOp::create(b_, loc_, y, one),
                              constant(type, int64_t{0}));
    return arith::MulIOp::create(b_, loc_, arith::MulIOp::create(b_, loc_, half, half),
                                 select(isOdd, x, one));
  }
  Type element = b_.getIntegerType(2 * width);
  auto tile = dyn_cast<RankedTensorType>(type);
  Type wide = tile ? Type(tile.clone(element)) : element;
  auto extend = [&](Value v) { return arith::ExtUIOp::create(b_, loc_, wide, v); };
  return arith::TruncIOp::create(b_, loc_, type, math::IPowIOp::create(b_, loc_, extend(x), extend(y)));
}

Value TileBuilder::floatPow(Value x, Value y) {
  auto exponent = dyn_cast_if_present<FloatAttr>(literal(y));
  // Squaring rounds once, as a correctly rounded power would.
  if (exponent && exponent.getValue().isExactlyValue(2.0)) return arith::MulFOp::create(b_, loc_, x, x);
  if (exponent && exponent.getValue().isExactlyValue(1.0)) return x;
  return PowOp::create(b_, loc_, x, y);
}

/// Python's %: the remainder has the divisor's sign, also if it is zero.
Value TileBuilder::floatMod(Value x, Value y) {
  Value zero = constant(x.getType(), int64_t{0});
  Value rest = arith::RemFOp::create(b_, loc_, x, y);
  Value isZero = compareFloats(arith::CmpFPredicate::OEQ, rest, zero);
  Value restNegative = compareFloats(arith::CmpFPredicate::OLT, rest, zero);
  Value divisorNegative = compareFloats(arith::CmpFPredicate::OLT, y, zero);
  Value differ = arith::XOrIOp::create(b_, loc_, restNegative, divisorNegative);
  Value moved = arith::SelectOp::create(b_, loc_, differ, arith::AddFOp::create(b_, loc_, rest, y), rest);
  Value minusZero = arith::NegFOp::create(b_, loc_, zero);
  Value signedZero = arith::SelectOp::create(b_, loc_, divisorNegative, minusZero, zero);
  return arith::SelectOp::create(b_, loc_, isZero, signedZero, moved);
}

/// Python's //: the quotient that matches %, so that 1.0 // 0.1 is 9. Division by zero follows IEEE 754.
Value TileBuilder::floatFloorDiv(Value x, Value y) {
  Type type = x.getType();
  Value zero = constant(type, int64_t{0}), one = constant(type, int64_t{1});
  Value plain = arith::DivFOp::create(b_, loc_, x, y);

  // (x - rest) / y is an integer except for one rounding. It is truncated; one less is the floor if the signs
  // differ.
  Value rest = arith::RemFOp::create(b_, loc_, x, y);
  Value quotient = arith::DivFOp::create(b_, loc_, arith::SubFOp::create(b_, loc_, x, rest), y);
  Value isInexact = compareFloats(arith::CmpFPredicate::UNE, rest, zero);
  Value differ = arith::XOrIOp::create(b_, loc_, compareFloats(arith::CmpFPredicate::OLT, rest, zero),
                                       compareFloats(arith::CmpFPredicate::OLT, y, zero));
  Value below = arith::AndIOp::create(b_, loc_, isInexact, differ);
  quotient = select(below, arith::SubFOp::create(b_, loc_, quotient, one), quotient);

  Value floor = math::FloorOp::create(b_, loc_, quotient);
  Value fraction = arith::SubFOp::create(b_, loc_, quotient, floor);
  Value isAbove = compareFloats(arith::CmpFPredicate::OGT, fraction, constant(type, 0.5));
  Value rounded = select(isAbove, arith::AddFOp::create(b_, loc_, floor, one), floor);
  // A zero has the sign of the plain quotient.
  Value signedZero = arith::MulFOp::create(b_, loc_, zero, plain);
  rounded = select(compareFloats(arith::CmpFPredicate::OEQ, quotient, zero), signedZero, rounded);
  return select(compareFloats(arith::CmpFPredicate::OEQ, y, zero), plain, rounded);
}

Value TileBuilder::causalMask(Value scores, Value q0, Value k0) {
  auto type = mlir::cast<RankedTensorType>(scores.getType());
  int64_t rank = type.getRank();
  auto positions = type.clone(b_.getI32Type());

  // The position along `axis`, in the shape of the scores.
  auto along = [&](int64_t axis) -> Value {
    int64_t extent = type.getShape()[axis];
    auto line = RankedTensorType::get({extent}, b_.getI32Type());
    Value index = IotaOp::create(b_, loc_, line, constant(b_.getI32Type(), int64_t{0}));
    SmallVector<int64_t> shape = {extent};
    for (int64_t other = 0; other < rank; ++other) {
      if (other == axis) continue;
      shape.insert(shape.begin() + other, 1);
      index = ExpandDimsOp::create(b_, loc_, RankedTensorType::get(shape, b_.getI32Type()), index, other);
    }
    return broadcast(index, positions);
  };
  Value distance = arith::SubIOp::create(b_, loc_, along(rank - 1), along(rank - 2));

  // The limit fits in 32 bits after it is cut to the possible distances. q0 - k0 has wrapped if the operands'
  // signs differ and the result does not have the sign of q0.
  Type i64 = b_.getI64Type(), i32 = b_.getI32Type();
  Value difference = arith::SubIOp::create(b_, loc_, q0, k0);
  Value signs = arith::AndIOp::create(b_, loc_, arith::XOrIOp::create(b_, loc_, q0, k0),
                                      arith::XOrIOp::create(b_, loc_, q0, difference));
  Value wrapped =
      arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, signs, constant(i64, int64_t{0}));
  // The largest or the smallest i64, depending on the sign of q0.
  Value distant = arith::XOrIOp::create(
      b_, loc_, arith::ShRSIOp::create(b_, loc_, q0, constant(i64, int64_t{63})), constant(i64, INT64_MAX));
  Value limit = arith::SelectOp::create(b_, loc_, wrapped, distant, difference);
  limit = arith::MinSIOp::create(b_, loc_, limit, constant(i64, int64_t{INT32_MAX}));
  limit = arith::MaxSIOp::create(b_, loc_, limit, constant(i64, int64_t{INT32_MIN}));
  limit = arith::TruncIOp::create(b_, loc_, i32, limit);
  Value hidden =
      arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::sgt, distance, broadcast(limit, positions));

  auto element = mlir::cast<FloatType>(type.getElementType());
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  llvm::APFloat lowest = llvm::APFloat::semanticsHasInf(semantics)
                             ? llvm::APFloat::getInf(semantics, /*Negative=*/true)
                             : llvm::APFloat::getLargest(semantics, /*Negative=*/true);
  Value fill = arith::ConstantOp::create(b_, loc_, SplatElementsAttr::get(type, lowest));
  return arith::SelectOp::create(b_, loc_, hidden, fill, scores);
}

} // namespace tessera::tile
