// x * y + z rounded once, for targets without such an instruction. Uses every operation of the arithmetic
// except fma.
#pragma once
#include "numerics/functions/Arithmetic.h"

namespace tessera::functions {

/// Returns x + y rounded to odd: the last bit of an inexact sum is set, so that a later rounding to fewer
/// bits sees that bits were cut off.
template <class A> typename A::V addToOdd(A &m, typename A::V x, typename A::V y) {
  using P = typename A::P;
  using IP = typename A::IP;
  TwoPart<A> sum = twoSum(m, x, y);
  auto word = m.bitcast(sum.high, m.i(64)), error = m.bitcast(sum.low, m.i(64));
  auto isEven = m.icmp(IP::eq, m.andi(word, 1), 0);
  // 1 (away from zero) if both have the same sign, else -1 (towards zero).
  auto step = m.ori(m.shrs(m.xori(word, error), 63), 1);
  auto isInexact = m.cmp(P::ONE, sum.low, 0.0);
  return m.bitcast(m.select(m.andi(isEven, isInexact), m.addi(word, step), word), m.f64());
}

/// Computes an f32 fma in f64: the product is exact, and the sum has more than twice an f32's bits.
template <class A> typename A::V fmaF32(A &m, typename A::V x, typename A::V y, typename A::V z) {
  auto product = m.mul(m.extf(x, m.f64()), m.extf(y, m.f64()));
  return m.truncf(addToOdd(m, product, m.extf(z, m.f64())), x.getType());
}

/// The value mantissa * 2^exponent, with |mantissa| in [1, 2) and the sign of the number. Meaningless for
/// zero.
template <class A> struct Scaled {
  typename A::V mantissa, exponent;
};

template <class A> Scaled<A> scaledOf(A &m, typename A::V x) {
  auto isDenormal = m.cmp(A::P::OLT, m.abs(x), 0x1p-1022);
  auto word = m.bitcast(m.select(isDenormal, m.mul(x, 0x1p54), x), m.i(64));
  auto mantissa = m.ori(m.andi(word, int64_t(0x800fffffffffffff)), int64_t(1023) << 52);
  auto biased = m.andi(m.shru(word, 52), 0x7ff);
  auto exponent = m.subi(biased, m.select(isDenormal, m.iconst(1023 + 54, word), m.iconst(1023, word)));
  return {m.bitcast(mantissa, m.f64()), exponent};
}

/// Returns 2^n for an i64 n in [-1022, 1023].
template <class A> typename A::V powerOfTwo(A &m, typename A::V n) {
  return m.bitcast(m.shl(m.addi(n, 1023), 52), m.f64());
}

/// Splits x into two parts of 26 bits.
template <class A> TwoPart<A> halves(A &m, typename A::V x) {
  auto large = m.mul(x, 0x1p27 + 1);
  auto high = m.sub(large, m.sub(large, x));
  return {high, m.sub(x, high)};
}

template <class A> typename A::V larger(A &m, typename A::V x, typename A::V y) {
  auto isNegative = m.icmp(A::IP::ne, m.shrs(m.subi(x, y), 63), 0);
  return m.select(isNegative, y, x);
}

/// For finite numbers, x and y not zero. Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums"
/// (2008), after scaling the operands so that nothing overflows or underflows on the way. `base` is the
/// exponent of the larger summand; the exponent of the smaller one is at least base - 200, since below that
/// only its sign matters.
template <class A> typename A::V fmaOfFinite(A &m, typename A::V x, typename A::V y, typename A::V z) {
  using P = typename A::P;
  Scaled<A> sx = scaledOf(m, x), sy = scaledOf(m, y), sz = scaledOf(m, z);
  auto isZero = m.cmp(P::OEQ, z, 0.0);
  auto lowest = m.iconst(-1300, sx.exponent);
  auto productExponent = m.addi(sx.exponent, sy.exponent);
  auto summandExponent = m.select(isZero, lowest, sz.exponent);
  auto base = larger(m, larger(m, productExponent, summandExponent), lowest);
  auto shift = [&](typename A::V exponent) {
    return powerOfTwo(m, larger(m, m.subi(exponent, base), m.iconst(-200, base)));
  };
  auto a = m.mul(sx.mantissa, shift(productExponent)), b = sy.mantissa;
  auto c = m.select(isZero, 0.0, m.mul(sz.mantissa, shift(summandExponent)));
  // a b = high + low exactly (Dekker), and a b + c = sum.high + (rest of three parts).
  auto high = m.mul(a, b);
  TwoPart<A> ah = halves(m, a), bh = halves(m, b);
  auto low = m.sub(m.mul(ah.high, bh.high), high);
  low = m.add(m.add(low, m.mul(ah.high, bh.low)), m.mul(ah.low, bh.high));
  low = m.add(low, m.mul(ah.low, bh.low));
  TwoPart<A> t = twoSum(m, c, low);
  TwoPart<A> sum = twoSum(m, high, t.high);
  auto rest = addToOdd(m, t.low, sum.low);
  auto normal = m.add(sum.high, rest);
  // A denormal result is a multiple of 2^-1074, which is the last place of this constant in the scale of
  // `base`. With the sum's sign, adding it does not leave the constant's binade.
  auto negative = m.subi(m.iconst(0, base), base);
  auto place = m.copySign(powerOfTwo(m, m.addi(larger(m, negative, m.iconst(0, base)), 52 - 1074)), normal);
  TwoPart<A> grid = twoSum(m, place, sum.high);
  auto onGrid = m.sub(m.add(grid.high, addToOdd(m, grid.low, rest)), place);
  auto half = m.shrs(base, 1);
  auto scale = [&](typename A::V v) {
    return m.mul(m.mul(v, powerOfTwo(m, half)), powerOfTwo(m, m.subi(base, half)));
  };
  auto result = scale(m.select(m.cmp(P::OLT, m.abs(normal), m.abs(place)), onGrid, normal));
  // Underflow to zero keeps the sign of the exact result.
  auto isLost = m.andi(m.cmp(P::OEQ, result, 0.0), m.cmp(P::ONE, normal, 0.0));
  return m.select(isLost, m.copySign(m.fconst(0, x), normal), result);
}

template <class A> typename A::V fmaF64(A &m, typename A::V x, typename A::V y, typename A::V z) {
  using P = typename A::P;
  auto isNumber = [&](typename A::V v) { // finite and not zero
    return m.andi(m.cmp(P::OLT, m.abs(v), kInfinity), m.cmp(P::ONE, v, 0.0));
  };
  auto isFinite = m.cmp(P::OLT, m.abs(z), kInfinity);
  auto factors = m.andi(isNumber(x), isNumber(y));
  // A product of two numbers is finite in exact arithmetic, even if x * y overflows. If the product is zero
  // or infinite, there is nothing to round.
  auto special = m.add(m.select(factors, m.fconst(0, x), m.mul(x, y)), z);
  return m.select(m.andi(factors, isFinite), fmaOfFinite(m, x, y, z), special);
}

} // namespace tessera::functions
