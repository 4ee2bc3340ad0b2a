#include "numerics/Arithmetic.h"
#include "numerics/Casts.h"
#include "numerics/FloatEnvironment.h"
#include <bit>
#include <cmath>

// Every operation of this file must round; a contracted product and sum would not.
#pragma STDC FP_CONTRACT OFF

namespace tessera {
namespace {

bool isComparison(ArithOp op) { return op >= ArithOp::Lt; }
bool isBitwise(ArithOp op) {
  return op == ArithOp::And || op == ArithOp::Or || op == ArithOp::Xor || op == ArithOp::Invert;
}

template <class T> bool compare(ArithOp op, T a, T b) {
  switch (op) {
  case ArithOp::Lt:
    return a < b;
  case ArithOp::Le:
    return a <= b;
  case ArithOp::Gt:
    return a > b;
  case ArithOp::Ge:
    return a >= b;
  case ArithOp::Eq:
    return a == b;
  default:
    return a != b;
  }
}

// --- Integers: computed in 64 bits; the result's dtype keeps the low bits ---

uint64_t power(int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 ? ~uint64_t{0} : 1) : 0;
  uint64_t result = 1;
  for (auto square = static_cast<uint64_t>(x); n; n >>= 1, square *= square)
    if (n & 1) result *= square;
  return result;
}

/// Operations of u64 that depend on the sign: its values do not fit in an int64_t.
uint64_t evaluateU64(ArithOp op, uint64_t a, uint64_t b) {
  switch (op) {
  case ArithOp::FloorDiv:
    return b ? a / b : 0;
  case ArithOp::Mod:
    return b ? a % b : 0;
  case ArithOp::Pow: { // a^(2 h + r) = (a^h)^2 a^r
    const uint64_t half = power(static_cast<int64_t>(a), static_cast<int64_t>(b >> 1));
    return half * half * (b & 1 ? a : 1);
  }
  case ArithOp::Shl:
    return b < 64 ? a << b : 0;
  case ArithOp::Shr:
    return b < 64 ? a >> b : 0;
  case ArithOp::Minimum:
    return a < b ? a : b;
  case ArithOp::Maximum:
    return a > b ? a : b;
  default:
    return compare(op, a, b);
  }
}

uint64_t evaluateInt(ArithOp op, DType t, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  const int bits = info(t).bits;
  const bool isTooFar = y < 0 || y >= bits;
  switch (op) {
  case ArithOp::Neg:
    return 0 - a;
  case ArithOp::Invert:
    return t == DType::Bool ? !a : ~a;
  case ArithOp::Abs:
    return x < 0 && t != DType::U64 ? 0 - a : a;
  case ArithOp::Add:
    return a + b;
  case ArithOp::Sub:
    return a - b;
  case ArithOp::Mul:
    return a * b;
  case ArithOp::And:
    return a & b;
  case ArithOp::Or:
    return a | b;
  case ArithOp::Xor:
    return a ^ b;
  default:
    break;
  }
  if (t == DType::U64) return evaluateU64(op, a, b);
  switch (op) {
  case ArithOp::FloorDiv:
    if (y == 0) return 0;
    if (y == -1) return 0 - a; // the processor's division traps on the smallest integer
    return static_cast<uint64_t>(x / y - (x % y != 0 && (x < 0) != (y < 0)));
  case ArithOp::Mod:
    if (y == 0 || y == -1) return 0;
    return static_cast<uint64_t>(x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0));
  case ArithOp::Pow:
    return power(x, y);
  case ArithOp::Shl:
    return isTooFar ? 0 : a << y;
  case ArithOp::Shr: // the value has been sign- or zero-extended to 64 bits
    return static_cast<uint64_t>(x >> (isTooFar ? 63 : y));
  case ArithOp::Minimum:
    return x < y ? a : b;
  case ArithOp::Maximum:
    return x > y ? a : b;
  default:
    return compare(op, x, y);
  }
}

// --- Floats: T is float or double, `round` rounds a result to the dtype ---

template <class T, class Round> T floatMod(T x, T y, Round round) {
  const T rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(T{0}, y < 0 ? T{-1} : T{1});
  return (rest < 0) != (y < 0) ? round(rest + y) : rest;
}

/// Returns the quotient that matches %: (x - rest) / y is an integer except for one rounding.
template <class T, class Round> T floatFloorDiv(T x, T y, Round round) {
  const T plain = round(x / y), rest = std::fmod(x, y);
  if (y == 0) return plain;
  T quotient = round(round(x - rest) / y);
  if (rest != 0 && (rest < 0) != (y < 0)) quotient = round(quotient - 1);
  if (quotient == 0) return std::copysign(T{0}, plain);
  const T floor = std::floor(quotient);
  return round(quotient - floor) > T{0.5} ? round(floor + 1) : floor;
}

template <class T, class Round> T evaluateFloat(ArithOp op, T x, T y, Round round) {
  switch (op) {
  case ArithOp::Neg:
    return -x;
  case ArithOp::Abs:
    return std::fabs(x);
  case ArithOp::Add:
    return round(x + y);
  case ArithOp::Sub:
    return round(x - y);
  case ArithOp::Mul:
    return round(x * y);
  case ArithOp::Div:
    return round(x / y);
  case ArithOp::FloorDiv:
    return floatFloorDiv(x, y, round);
  case ArithOp::Mod:
    return floatMod(x, y, round);
  case ArithOp::Minimum:
    return __builtin_elementwise_minimum(x, y);
  default:
    return __builtin_elementwise_maximum(x, y);
  }
}

float toFloat(uint64_t bits, DType t) {
  return std::bit_cast<float>(static_cast<uint32_t>(castBits(bits, t, DType::F32)));
}

uint64_t fromFloat(float x, DType t) { return castBits(std::bit_cast<uint32_t>(x), DType::F32, t); }

} // namespace

bool isDefined(ArithOp op, DType t) {
  if (t == DType::Bool) return isBitwise(op) || op == ArithOp::Eq || op == ArithOp::Ne;
  if (isFloat(t)) return !isBitwise(op) && op != ArithOp::Shl && op != ArithOp::Shr && op != ArithOp::Pow;
  if (isPacked(t)) return isComparison(op);
  return op != ArithOp::Div;
}

uint64_t evaluate(ArithOp op, DType t, uint64_t a, uint64_t b) {
  if (!isFloat(t)) {
    auto value = [&](uint64_t bits) { return static_cast<int64_t>(castBits(bits, t, DType::I64)); };
    const uint64_t result = evaluateInt(op, t, value(a), value(b));
    return isComparison(op) ? result : castBits(result, DType::I64, t);
  }
  const DefaultFloats modes;
  if (t == DType::F64) {
    const auto x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
    if (isComparison(op)) return compare(op, x, y);
    return std::bit_cast<uint64_t>(evaluateFloat(op, x, y, [](double r) { return r; }));
  }
  const DType computed = t == DType::TF32 ? DType::F32 : t;
  const float x = toFloat(a, computed), y = toFloat(b, computed);
  if (isComparison(op)) return compare(op, x, y);
  auto round = [&](float r) { return toFloat(fromFloat(r, computed), computed); };
  return fromFloat(evaluateFloat(op, x, y, round), computed);
}

} // namespace tessera
