// Compares the reference arithmetic with wider arithmetic: every pair of 8-bit integers, and edge values for
// other dtypes.
// else.
#include "numerics/Arithmetic.h"
#include "numerics/Casts.h"
#include "numerics/test/Values.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace tessera {
namespace {

uint64_t toBits(int64_t v, DType t) { return castBits(static_cast<uint64_t>(v), DType::I64, t); }
int64_t toInt(uint64_t bits, DType t) { return static_cast<int64_t>(castBits(bits, t, DType::I64)); }
int64_t ofInts(ArithOp op, DType t, int64_t x, int64_t y = 0) {
  return toInt(evaluate(op, t, toBits(x, t), toBits(y, t)), t);
}
double ofFloats(ArithOp op, DType t, double x, double y = 0) {
  return toDouble(evaluate(op, t, fromDouble(x, t), fromDouble(y, t)), t);
}

/// Returns the exact result before the dtype wraps it. Powers have their own test.
int64_t model(ArithOp op, int64_t x, int64_t y, int bits) {
  switch (op) {
  case ArithOp::Neg:
    return -x;
  case ArithOp::Invert:
    return -x - 1;
  case ArithOp::Abs:
    return std::abs(x);
  case ArithOp::Add:
    return x + y;
  case ArithOp::Sub:
    return x - y;
  case ArithOp::Mul:
    return x * y;
  case ArithOp::FloorDiv:
    return y == 0 ? 0 : static_cast<int64_t>(std::floor(static_cast<double>(x) / static_cast<double>(y)));
  case ArithOp::Mod:
    return y == 0 ? 0 : x - y * model(ArithOp::FloorDiv, x, y, bits);
  case ArithOp::Shl:
    return y < 0 || y >= bits ? 0 : x * (int64_t{1} << y);
  case ArithOp::Shr:
    return y < 0 || y >= bits ? (x < 0 ? -1 : 0) : model(ArithOp::FloorDiv, x, int64_t{1} << y, bits);
  case ArithOp::Minimum:
    return std::min(x, y);
  default:
    return std::max(x, y);
  }
}

TEST(Arithmetic, EveryPairOfBytes) {
  using enum ArithOp;
  for (DType t : {DType::I8, DType::U8}) {
    const int64_t low = t == DType::I8 ? -128 : 0;
    for (ArithOp op : {Neg, Invert, Abs, Add, Sub, Mul, FloorDiv, Mod, Shl, Shr, Minimum, Maximum})
      for (int64_t x = low; x < low + 256; ++x)
        for (int64_t y = low; y < low + 256; ++y)
          ASSERT_EQ(ofInts(op, t, x, y), toInt(toBits(model(op, x, y, 8), t), t))
              << name(t) << " op " << int(op) << ": " << x << ", " << y;
  }
}

TEST(Arithmetic, IntegersWrapAtTheEndsOfTheirRange) {
  for (DType t : {DType::I64, DType::I32, DType::I16, DType::I8}) {
    const int64_t high = static_cast<int64_t>((uint64_t{1} << (info(t).bits - 1)) - 1), low = -high - 1;
    EXPECT_EQ(ofInts(ArithOp::Neg, t, low), low);
    EXPECT_EQ(ofInts(ArithOp::Abs, t, low), low);
    EXPECT_EQ(ofInts(ArithOp::Add, t, high, 1), low);
    EXPECT_EQ(ofInts(ArithOp::Add, t, low, low), 0);
    EXPECT_EQ(ofInts(ArithOp::Mul, t, high, high), 1);
    EXPECT_EQ(ofInts(ArithOp::FloorDiv, t, low, -1), low);
    EXPECT_EQ(ofInts(ArithOp::Mod, t, low, -1), 0);
    EXPECT_EQ(ofInts(ArithOp::Shr, t, low, 100), -1);
    EXPECT_EQ(evaluate(ArithOp::Lt, t, toBits(low, t), toBits(high, t)), 1u);
  }
  EXPECT_EQ(evaluate(ArithOp::Lt, DType::U8, 255, 1), 0u);
}

TEST(Arithmetic, PowersOfIntegers) {
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::U8, 3, 200), 161);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I32, 3, 50), -794958903);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I32, 2, 100), 0);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I64, -1, INT64_MAX), -1);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I8, 0, 0), 1);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I8, -1, -3), -1);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I8, -1, -128), 1);
  EXPECT_EQ(ofInts(ArithOp::Pow, DType::I8, 5, -1), 0);
}

/// Values near which a format's arithmetic changes.
std::vector<double> edges(DType t) {
  const DTypeInfo &f = info(t);
  const double smallest = std::ldexp(1.0, f.minExponent - f.mantissaBits),
               normal = std::ldexp(1.0, f.minExponent);
  std::vector<double> out = {0.0,          1.0,
                             0.5,          1.5,
                             2.0,          3.0,
                             0.1,          smallest,
                             normal,       normal - smallest,
                             3 * smallest, toDouble(fromDouble(1e300, t), t),
                             kInf};
  for (size_t n = out.size(), i = 0; i < n; ++i)
    out.push_back(-out[i]);
  if (f.hasNaN) out.push_back(kQuietNaN);
  for (double &x : out)
    x = toDouble(fromDouble(x, t), t);
  return out;
}

TEST(Arithmetic, FloatsRoundOnce) {
  // A double has more than twice the digits of f32, so rounding its result rounds the exact result.
  using enum ArithOp;
  for (const DTypeInfo &f : allDTypes()) {
    if (f.cls != DTypeClass::Float || f.dtype == DType::F64 || f.dtype == DType::TF32) continue;
    for (double x : edges(f.dtype))
      for (double y : edges(f.dtype))
        for (ArithOp op : {Add, Sub, Mul, Div, Neg, Abs, Minimum, Maximum}) {
          double want = op == Add   ? x + y
                        : op == Sub ? x - y
                        : op == Mul ? x * y
                        : op == Div ? x / y
                        : op == Neg ? -x
                        : op == Abs ? std::abs(x)
                                    : 0;
          if (op == Minimum || op == Maximum) {
            bool first = std::signbit(x) != std::signbit(y) ? std::signbit(x) : x < y;
            want = std::isnan(x) || std::isnan(y) ? kQuietNaN : first == (op == Minimum) ? x : y;
          }
          want = toDouble(fromDouble(want, f.dtype), f.dtype);
          double got = ofFloats(op, f.dtype, x, y);
          if (std::isnan(want))
            EXPECT_TRUE(std::isnan(got)) << f.name << " op " << int(op) << ": " << x << ", " << y;
          else
            EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want))
                << f.name << " op " << int(op) << ": " << x << ", " << y << " gives " << got;
        }
  }
}

TEST(Arithmetic, FloorDivisionAndRemainderArePythons) {
  for (DType t : {DType::F64, DType::F32}) {
    EXPECT_EQ(ofFloats(ArithOp::FloorDiv, t, -5, kInf), -1);
    EXPECT_EQ(ofFloats(ArithOp::Mod, t, -5, kInf), kInf);
    EXPECT_EQ(ofFloats(ArithOp::FloorDiv, t, 1, 0), kInf);
    EXPECT_TRUE(std::isnan(ofFloats(ArithOp::FloorDiv, t, 0, 0)));
    EXPECT_TRUE(std::isnan(ofFloats(ArithOp::FloorDiv, t, kInf, 2)));
    EXPECT_TRUE(std::isnan(ofFloats(ArithOp::Mod, t, 1, 0)));
    EXPECT_EQ(ofFloats(ArithOp::FloorDiv, t, 7, -2), -4);
    EXPECT_EQ(ofFloats(ArithOp::Mod, t, 7, -2), -1);
    EXPECT_TRUE(std::signbit(ofFloats(ArithOp::Mod, t, 6, -2)));
    EXPECT_TRUE(std::signbit(ofFloats(ArithOp::FloorDiv, t, 0, -2)));
  }
  EXPECT_EQ(ofFloats(ArithOp::FloorDiv, DType::F64, 1, 0.1), 9);
  EXPECT_EQ(ofFloats(ArithOp::FloorDiv, DType::F32, 1, 0.1), 9);
}

TEST(Arithmetic, ComparisonsAreIEEE) {
  const uint64_t nan = fromDouble(kQuietNaN, DType::F16), one = fromDouble(1, DType::F16);
  EXPECT_EQ(evaluate(ArithOp::Eq, DType::F16, nan, nan), 0u);
  EXPECT_EQ(evaluate(ArithOp::Ne, DType::F16, nan, nan), 1u);
  EXPECT_EQ(evaluate(ArithOp::Le, DType::F16, nan, one), 0u);
  EXPECT_EQ(evaluate(ArithOp::Eq, DType::F16, fromDouble(-0.0, DType::F16), fromDouble(0, DType::F16)), 1u);
}

TEST(Arithmetic, Bool) {
  EXPECT_EQ(evaluate(ArithOp::Invert, DType::Bool, 1), 0u);
  EXPECT_EQ(evaluate(ArithOp::Invert, DType::Bool, 0), 1u);
  EXPECT_EQ(evaluate(ArithOp::Xor, DType::Bool, 1, 1), 0u);
  EXPECT_FALSE(isDefined(ArithOp::Add, DType::Bool));
  EXPECT_FALSE(isDefined(ArithOp::Div, DType::I32));
  EXPECT_FALSE(isDefined(ArithOp::Pow, DType::F32));
}

} // namespace
} // namespace tessera
