// Constants: their conversions and their arithmetic, computed by numerics/Arithmetic.h and numerics/Casts.h.
#include "compiler/frontend/sema/Elaborator.h"
#include "numerics/Arithmetic.h"
#include "numerics/Casts.h"
#include "numerics/Functions.h"
#include <cmath>

namespace tessera::frontend {

namespace {

std::optional<ArithOp> arithOp(Op op) {
  switch (op) {
  case Op::Neg:
    return ArithOp::Neg;
  case Op::Invert:
    return ArithOp::Invert;
  case Op::Abs:
    return ArithOp::Abs;
  case Op::Add:
    return ArithOp::Add;
  case Op::Sub:
    return ArithOp::Sub;
  case Op::Mul:
    return ArithOp::Mul;
  case Op::Div:
    return ArithOp::Div;
  case Op::FloorDiv:
    return ArithOp::FloorDiv;
  case Op::Mod:
    return ArithOp::Mod;
  case Op::Pow:
    return ArithOp::Pow;
  case Op::And:
    return ArithOp::And;
  case Op::Or:
    return ArithOp::Or;
  case Op::Xor:
    return ArithOp::Xor;
  case Op::Shl:
    return ArithOp::Shl;
  case Op::Shr:
    return ArithOp::Shr;
  case Op::Minimum:
    return ArithOp::Minimum;
  case Op::Maximum:
    return ArithOp::Maximum;
  case Op::Lt:
    return ArithOp::Lt;
  case Op::Le:
    return ArithOp::Le;
  case Op::Gt:
    return ArithOp::Gt;
  case Op::Ge:
    return ArithOp::Ge;
  case Op::Eq:
    return ArithOp::Eq;
  case Op::Ne:
    return ArithOp::Ne;
  default:
    return std::nullopt;
  }
}

/// Returns the dtype in which a constant is computed: literals are Python's 64-bit integers and doubles.
DType computedDType(const Value &v) {
  if (!v.weak) return v.dtype;
  return isFloat(v.dtype) ? DType::F64 : DType::I64;
}

uint64_t bitsOf(const Value &v) {
  DType t = computedDType(v);
  return isFloat(t) ? fromDouble(v.floatValue, t)
                    : castBits(static_cast<uint64_t>(v.intValue), DType::I64, t);
}

/// Reads a constant from its storage. Every float is a double, and every integer an int64_t.
Value fromBits(uint64_t bits, DType t) {
  if (t == DType::Bool) return Value::boolean(bits != 0);
  if (isFloat(t)) return Value::real(toDouble(bits, t), t, false);
  return Value::integer(static_cast<int64_t>(castBits(bits, t, DType::I64)), t, false);
}

/// Does the result of an operation on 64-bit integers not fit? Python's integers are unbounded.
bool overflows(Op op, int64_t x, int64_t y) {
  int64_t r = 0;
  switch (op) {
  case Op::Neg:
  case Op::Abs:
    return x == INT64_MIN;
  case Op::Add:
    return __builtin_add_overflow(x, y, &r);
  case Op::Sub:
    return __builtin_sub_overflow(x, y, &r);
  case Op::Mul:
    return __builtin_mul_overflow(x, y, &r);
  case Op::FloorDiv:
    return x == INT64_MIN && y == -1;
  case Op::Shl:
    return x != static_cast<int64_t>(static_cast<uint64_t>(x) << y) >> y;
  case Op::Pow:
    if (x == 0 || x == 1 || x == -1) return false;
    r = 1;
    for (int64_t i = 0; i < y; ++i)
      if (__builtin_mul_overflow(r, x, &r)) return true;
    return false;
  default:
    return false;
  }
}

} // namespace

Value Elaborator::castConstant(const Value &v, DType to) {
  return fromBits(castBits(bitsOf(v), computedDType(v), to), to);
}

/// Applies an operator to constants of one dtype; returns nothing if only generated code computes it.
std::optional<Value> Elaborator::fold(Op op, const Value &a, const Value *b, Range loc) {
  std::optional<ArithOp> arith = arithOp(op);
  DType t = computedDType(a);
  if (!arith) return std::nullopt;
  bool isLiteral = a.weak;
  if (op == Op::Pow && isLiteral && (isFloat(t) || b->intValue < 0)) {
    auto number = [](const Value &v) {
      return isFloat(v.dtype) ? v.floatValue : static_cast<double>(v.intValue);
    };
    if (number(a) == 0 && number(*b) < 0)
      return fail(Code::E_DIVISION_BY_ZERO, loc, "zero to a negative power is a division by zero");
    return Value::real(functions::power(number(a), number(*b)));
  }
  if (!isDefined(*arith, t)) return std::nullopt;
  if (isLiteral && isInt(t) && overflows(op, a.intValue, b ? b->intValue : 0))
    return fail(Code::E_LITERAL_RANGE, loc, "the constant does not fit in 64 bits");
  bool compares = ops::isComparison(op);
  Value out =
      fromBits(tessera::evaluate(*arith, t, bitsOf(a), b ? bitsOf(*b) : 0), compares ? DType::Bool : t);
  if (compares || !isLiteral) return out;
  out.dtype = a.dtype; // for literals, the dtype that they get if nothing else decides
  out.weak = true;
  out.wide = a.wide || (b && b->wide);
  return out;
}

} // namespace tessera::frontend
