// Arithmetic, comparisons and functions of scalars and tiles alike.
#include "compiler/graph/Import/Importer.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Op;

static bool isUnsignedLike(DType t) { return t == DType::Bool || isUnsigned(t); }

Value KernelImporter::importArith(const Expr &e) {
  Value x = import(*e.args[0]);
  Value y = e.args.size() > 1 ? import(*e.args[1]) : Value();
  loc_ = locationOf(e.loc);
  return isFloat(e.type.dtype) ? importFloatArith(e, x, y) : importIntArith(e, x, y);
}

Value KernelImporter::importIntArith(const Expr &e, Value x, Value y) {
  bool isUnsigned = isUnsignedLike(e.type.dtype);
  auto zero = [&] { return constant(x.getType(), int64_t{0}); };
  switch (e.op) {
  case Op::Neg:
    return arith::SubIOp::create(b_, loc_, zero(), x);
  case Op::Add:
    return arith::AddIOp::create(b_, loc_, x, y);
  case Op::Sub:
    return arith::SubIOp::create(b_, loc_, x, y);
  case Op::Mul:
    return arith::MulIOp::create(b_, loc_, x, y);
  case Op::FloorDiv:
  case Op::Mod:
    return importIntDivision(e, x, y);
  case Op::Pow:
    return importIntPow(x, y, isUnsigned);
  case Op::And:
    return arith::AndIOp::create(b_, loc_, x, y);
  case Op::Or:
    return arith::OrIOp::create(b_, loc_, x, y);
  case Op::Xor:
    return arith::XOrIOp::create(b_, loc_, x, y);
  case Op::Invert:
    return arith::XOrIOp::create(b_, loc_, x, constant(x.getType(), int64_t{-1}));
  case Op::Shl:
  case Op::Shr:
    return importShift(e, x, y);
  case Op::Minimum:
    if (isUnsigned) return arith::MinUIOp::create(b_, loc_, x, y);
    return arith::MinSIOp::create(b_, loc_, x, y);
  case Op::Maximum:
    if (isUnsigned) return arith::MaxUIOp::create(b_, loc_, x, y);
    return arith::MaxSIOp::create(b_, loc_, x, y);
  case Op::Abs:
    if (isUnsigned) return x;
    return arith::MaxSIOp::create(b_, loc_, x, arith::SubIOp::create(b_, loc_, zero(), x));
  default:
    return emitUnimplemented(e, "this operation on dtype " + std::string(tessera::name(e.type.dtype)));
  }
}

/// The value of an integer literal, also behind a broadcast, if its dtype holds it.
static std::optional<int64_t> literal(const frontend::Expr &e) {
  if (e.op == Op::Broadcast) return literal(*e.args[0]);
  if (e.op != Op::ConstInt) return std::nullopt;
  unsigned bits = info(e.type.dtype).bits;
  bool fits = isUnsignedLike(e.type.dtype) ? llvm::isUIntN(bits, e.intValue) : llvm::isIntN(bits, e.intValue);
  return fits ? std::optional(e.intValue) : std::nullopt;
}

Value KernelImporter::importIntDivision(const Expr &e, Value x, Value y) {
  bool isUnsigned = isUnsignedLike(e.type.dtype), isDivision = e.op == Op::FloorDiv;
  mlir::Type type = x.getType();
  auto compare = [&](arith::CmpIPredicate p, Value a, Value b) {
    return arith::CmpIOp::create(b_, loc_, p, a, b);
  };

  // By zero gives 0; by -1 would overflow for the smallest integer, so it becomes a negation. A literal
  // divisor is neither, as a rule, and needs no guard.
  std::optional<int64_t> known = literal(*e.args[1]);
  bool isSafe = known && *known != 0 && *known != -1;
  Value zero = constant(type, int64_t{0}), one, isZero, isMinusOne, divisor = y;
  if (!isSafe) {
    one = constant(type, int64_t{1});
    isZero = compare(arith::CmpIPredicate::eq, y, zero);
    divisor = arith::SelectOp::create(b_, loc_, isZero, one, y);
    if (!isUnsigned) {
      isMinusOne = compare(arith::CmpIPredicate::eq, y, constant(type, int64_t{-1}));
      divisor = arith::SelectOp::create(b_, loc_, isMinusOne, one, divisor);
    }
  }

  Value result;
  if (isUnsigned)
    result = isDivision ? Value(arith::DivUIOp::create(b_, loc_, x, divisor))
                        : Value(arith::RemUIOp::create(b_, loc_, x, divisor));
  else if (isDivision) {
    result = arith::FloorDivSIOp::create(b_, loc_, x, divisor);
    if (!isSafe) {
      Value negated = arith::SubIOp::create(b_, loc_, zero, x);
      result = arith::SelectOp::create(b_, loc_, isMinusOne, negated, result);
    }
  } else {
    // A remainder of the other sign moves into the divisor's half.
    Value rest = arith::RemSIOp::create(b_, loc_, x, divisor);
    Value isNonZero = compare(arith::CmpIPredicate::ne, rest, zero);
    Value signs = arith::XOrIOp::create(b_, loc_, rest, divisor);
    Value differ = compare(arith::CmpIPredicate::slt, signs, zero);
    Value move = arith::AndIOp::create(b_, loc_, isNonZero, differ);
    result = arith::SelectOp::create(b_, loc_, move, arith::AddIOp::create(b_, loc_, rest, divisor), rest);
  }
  return isSafe ? result : Value(arith::SelectOp::create(b_, loc_, isZero, zero, result));
}

Value KernelImporter::importShift(const Expr &e, Value x, Value y) {
  int64_t width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  bool isLeft = e.op == Op::Shl, isSigned = !isUnsignedLike(e.type.dtype);
  std::optional<int64_t> known = literal(*e.args[1]);
  bool isSafe = known && *known >= 0 && *known < width;
  Value tooFar, amount = y;
  if (!isSafe) {
    // Negative amounts are large unsigned ones.
    Value last = constant(y.getType(), width - 1);
    tooFar = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ugt, y, last);
    amount = arith::MinUIOp::create(b_, loc_, y, last);
  }
  if (!isLeft && isSigned)
    return arith::ShRSIOp::create(b_, loc_, x, amount); // fills with the sign however far
  Value result = isLeft ? Value(arith::ShLIOp::create(b_, loc_, x, amount))
                        : Value(arith::ShRUIOp::create(b_, loc_, x, amount));
  if (isSafe) return result;
  return arith::SelectOp::create(b_, loc_, tooFar, constant(x.getType(), int64_t{0}), result);
}

/// math.ipowi reads its exponent as signed: unsigned ones are raised in twice the width.
Value KernelImporter::importIntPow(Value x, Value y, bool isUnsigned) {
  mlir::Type type = x.getType();
  if (!isUnsigned) return math::IPowIOp::create(b_, loc_, x, y);
  mlir::Type element = b_.getIntegerType(2 * getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  auto tile = dyn_cast<RankedTensorType>(type);
  mlir::Type wide = tile ? mlir::Type(tile.clone(element)) : element;
  auto extend = [&](Value v) { return arith::ExtUIOp::create(b_, loc_, wide, v); };
  return arith::TruncIOp::create(b_, loc_, type, math::IPowIOp::create(b_, loc_, extend(x), extend(y)));
}

Value KernelImporter::importFloatArith(const Expr &e, Value x, Value y) {
  switch (e.op) {
  case Op::Neg:
    return arith::NegFOp::create(b_, loc_, x);
  case Op::Add:
    return arith::AddFOp::create(b_, loc_, x, y);
  case Op::Sub:
    return arith::SubFOp::create(b_, loc_, x, y);
  case Op::Mul:
    return arith::MulFOp::create(b_, loc_, x, y);
  case Op::Div:
    return arith::DivFOp::create(b_, loc_, x, y);
  case Op::FloorDiv:
    return importFloatFloorDiv(x, y);
  case Op::Mod:
    return importFloatMod(x, y);
  case Op::Pow:
    return importFloatPow(e, x, y);
  case Op::Minimum:
    return arith::MinimumFOp::create(b_, loc_, x, y);
  case Op::Maximum:
    return arith::MaximumFOp::create(b_, loc_, x, y);
  case Op::Abs:
    return math::AbsFOp::create(b_, loc_, x);
  default:
    return emitUnimplemented(e, "this operation on dtype " + std::string(tessera::name(e.type.dtype)));
  }
}

/// Python's %: the remainder has the divisor's sign, a zero too.
Value KernelImporter::importFloatMod(Value x, Value y) {
  auto compare = [&](arith::CmpFPredicate p, Value a, Value b) {
    return arith::CmpFOp::create(b_, loc_, p, a, b);
  };
  Value zero = constant(x.getType(), int64_t{0});
  Value rest = arith::RemFOp::create(b_, loc_, x, y);
  Value isZero = compare(arith::CmpFPredicate::OEQ, rest, zero);
  Value restNegative = compare(arith::CmpFPredicate::OLT, rest, zero);
  Value divisorNegative = compare(arith::CmpFPredicate::OLT, y, zero);
  Value differ = arith::XOrIOp::create(b_, loc_, restNegative, divisorNegative);
  Value moved = arith::SelectOp::create(b_, loc_, differ, arith::AddFOp::create(b_, loc_, rest, y), rest);
  Value minusZero = arith::NegFOp::create(b_, loc_, zero);
  Value signedZero = arith::SelectOp::create(b_, loc_, divisorNegative, minusZero, zero);
  return arith::SelectOp::create(b_, loc_, isZero, signedZero, moved);
}

/// Python's //: the quotient that belongs to %, so that 1.0 // 0.1 is 9; division by zero as IEEE divides.
Value KernelImporter::importFloatFloorDiv(Value x, Value y) {
  auto compare = [&](arith::CmpFPredicate p, Value a, Value b) {
    return arith::CmpFOp::create(b_, loc_, p, a, b);
  };
  auto select = [&](Value c, Value a, Value b) { return arith::SelectOp::create(b_, loc_, c, a, b); };
  mlir::Type type = x.getType();
  Value zero = constant(type, int64_t{0}), one = constant(type, int64_t{1});
  Value plain = arith::DivFOp::create(b_, loc_, x, y);

  // (x - rest) / y is an integer but for one rounding. It truncates; one below is the floor when the signs
  // differ.
  Value rest = arith::RemFOp::create(b_, loc_, x, y);
  Value quotient = arith::DivFOp::create(b_, loc_, arith::SubFOp::create(b_, loc_, x, rest), y);
  Value isInexact = compare(arith::CmpFPredicate::UNE, rest, zero);
  Value differ = arith::XOrIOp::create(b_, loc_, compare(arith::CmpFPredicate::OLT, rest, zero),
                                       compare(arith::CmpFPredicate::OLT, y, zero));
  Value below = arith::AndIOp::create(b_, loc_, isInexact, differ);
  quotient = select(below, arith::SubFOp::create(b_, loc_, quotient, one), quotient);

  Value floor = math::FloorOp::create(b_, loc_, quotient);
  Value fraction = arith::SubFOp::create(b_, loc_, quotient, floor);
  Value isAbove = compare(arith::CmpFPredicate::OGT, fraction, constant(type, 0.5));
  Value rounded = select(isAbove, arith::AddFOp::create(b_, loc_, floor, one), floor);
  // A zero has the sign of the plain quotient.
  Value signedZero = arith::MulFOp::create(b_, loc_, zero, plain);
  rounded = select(compare(arith::CmpFPredicate::OEQ, quotient, zero), signedZero, rounded);
  return select(compare(arith::CmpFPredicate::OEQ, y, zero), plain, rounded);
}

Value KernelImporter::importFloatPow(const Expr &e, Value x, Value y) {
  const Expr *exponent = e.args[1].get();
  while (exponent->op == Op::Broadcast)
    exponent = exponent->args[0].get();
  // Squaring rounds once, as a correctly rounded power would.
  if (exponent->op == Op::ConstFloat && exponent->floatValue == 2.0)
    return arith::MulFOp::create(b_, loc_, x, x);
  if (exponent->op == Op::ConstFloat && exponent->floatValue == 1.0) return x;
  return tile::PowOp::create(b_, loc_, x, y);
}

Value KernelImporter::importCompare(const Expr &e) {
  Value x = import(*e.args[0]), y = import(*e.args[1]);
  loc_ = locationOf(e.loc);
  size_t column = static_cast<size_t>(e.op) - static_cast<size_t>(Op::Lt);
  DType dtype = e.args[0]->type.dtype;
  if (isFloat(dtype)) {
    // Ordered, but for !=, which holds when either side is NaN.
    using P = arith::CmpFPredicate;
    static constexpr P predicates[] = {P::OLT, P::OLE, P::OGT, P::OGE, P::OEQ, P::UNE};
    return arith::CmpFOp::create(b_, loc_, predicates[column], x, y);
  }
  using P = arith::CmpIPredicate;
  static constexpr P signedOnes[] = {P::slt, P::sle, P::sgt, P::sge, P::eq, P::ne};
  static constexpr P unsignedOnes[] = {P::ult, P::ule, P::ugt, P::uge, P::eq, P::ne};
  return arith::CmpIOp::create(b_, loc_, (isUnsignedLike(dtype) ? unsignedOnes : signedOnes)[column], x, y);
}

Value KernelImporter::importFunction(const Expr &e) {
  SmallVector<Value> args;
  for (const frontend::ExprPtr &arg : e.args)
    args.push_back(import(*arg));
  loc_ = locationOf(e.loc);
  switch (e.op) {
  case Op::Exp:
    return tile::ExpOp::create(b_, loc_, args[0]);
  case Op::Exp2:
    return tile::Exp2Op::create(b_, loc_, args[0]);
  case Op::Log:
    return tile::LogOp::create(b_, loc_, args[0]);
  case Op::Log2:
    return tile::Log2Op::create(b_, loc_, args[0]);
  case Op::Sqrt:
    return math::SqrtOp::create(b_, loc_, args[0]);
  case Op::Rsqrt:
    return tile::RsqrtOp::create(b_, loc_, args[0]);
  case Op::Tanh:
    return tile::TanhOp::create(b_, loc_, args[0]);
  case Op::Sigmoid:
    return tile::SigmoidOp::create(b_, loc_, args[0].getType(), args[0]);
  case Op::Erf:
    return tile::ErfOp::create(b_, loc_, args[0]);
  case Op::Sin:
    return tile::SinOp::create(b_, loc_, args[0]);
  case Op::Cos:
    return tile::CosOp::create(b_, loc_, args[0]);
  case Op::Fma:
    return math::FmaOp::create(b_, loc_, args[0], args[1], args[2]);
  default:
    return emitUnimplemented(e, "this function");
  }
}

} // namespace tessera::graph
