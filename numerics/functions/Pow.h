// Powers of floats, and log10.
#pragma once
#include "numerics/functions/Exp.h"
#include "numerics/functions/Log.h"

namespace tessera::functions {

/// Returns log2 of a positive finite f64 with about 68 bits: the exponent of a power reaches 2^10 and
/// multiplies the error.
template <class A> TwoPart<A> log2InTwoParts(A &m, typename A::V x) {
  auto [f, e] = splitMantissa(m, x);
  // s = f / (2 + f); the remainder of the quotient gives the low part.
  auto divisor = m.add(f, 2.0);
  auto divisorLow = m.sub(f, m.sub(divisor, 2.0));
  auto quotient = m.div(f, divisor);
  auto remainder = m.fma(m.neg(quotient), divisorLow, m.fma(m.neg(quotient), divisor, f));
  TwoPart<A> s{quotient, m.div(remainder, divisor)};
  // log(1 + f) = 2 s + s z (2/3 + z P(z)), z = s^2.
  TwoPart<A> z = product(m, s, s);
  auto tail = m.mul(z.high, m.polynomial(z.high, kLogTailD));
  TwoPart<A> twoThirds = constant(m, kTwoThirdsD, x);
  TwoPart<A> factor = fastSum(m, twoThirds.high, tail);
  factor.low = m.add(factor.low, twoThirds.low);
  TwoPart<A> cubic = product(m, product(m, s, z), factor);
  TwoPart<A> log = fastSum(m, m.mul(s.high, 2.0), cubic.high);
  log.low = m.add(log.low, m.fma(s.low, m.fconst(2, x), cubic.low));
  TwoPart<A> scaled = product(m, log, constant(m, kLog2eD, x));
  TwoPart<A> sum = fastSum(m, e, scaled.high);
  return fastSum(m, sum.high, m.add(sum.low, scaled.low));
}

/// Returns |x|^y in f64. Large |y| are clamped so that 0 * inf cannot arise if |x| is 1.
template <class A> typename A::V powOfMagnitude(A &m, typename A::V x, typename A::V y, bool onlyF32) {
  using P = typename A::P;
  auto bounded = m.atLeast(m.atMost(y, 1e300), -1e300);
  if (onlyF32) return exp2(m, m.mul(bounded, log2(m, x)));
  TwoPart<A> log = log2InTwoParts(m, x);
  auto isRegular = m.cmp(P::OLT, x, kInfinity);
  log.high = m.select(isRegular, log.high, x);
  log.high = m.select(m.cmp(P::OEQ, x, 0.0), -kInfinity, log.high);
  auto high = m.mul(bounded, log.high);
  auto low = m.fma(bounded, log.low, m.fma(bounded, log.high, m.neg(high)));
  // If the result is out of range, the low part is meaningless.
  auto inRange = m.andi(m.cmp(P::OLE, high, 1024), m.cmp(P::OGT, high, -1100));
  low = m.select(inRange, low, m.fconst(0, low));
  return exp2InTwoParts<A>(m, high, &low);
}

template <class A> typename A::V pow(A &m, typename A::V x, typename A::V y) {
  using P = typename A::P;
  const auto type = x.getType();
  const bool onlyF32 = !m.isF64(x);
  if (onlyF32) { // f64 has all the precision that an f32 power needs
    x = m.extf(x, m.f64());
    y = m.extf(y, m.f64());
  }
  auto magnitude = powOfMagnitude(m, m.abs(x), y, onlyF32);
  // A negative base (including -0) takes the sign of an odd exponent. With a fractional exponent the power
  // does not exist.
  auto half = m.mul(y, 0.5);
  auto isInteger = m.cmp(P::OEQ, m.floor(y), y);
  auto isOdd = m.andi(isInteger, m.cmp(P::UNE, m.floor(half), half));
  auto signBit = m.andi(m.bitcast(x, m.i(64)), kSignF64);
  auto sign = m.select(isOdd, signBit, m.iconst(0, signBit));
  auto result = m.bitcast(m.ori(m.bitcast(magnitude, m.i(64)), sign), x.getType());
  auto isNegative = m.andi(m.cmp(P::OLT, x, 0.0), m.cmp(P::OGT, x, -kInfinity));
  auto noPower = m.andi(isNegative, m.cmp(P::ONE, m.floor(y), y));
  result = m.select(noPower, kNaN, result);
  result = m.select(m.cmp(P::OEQ, x, 1.0), 1.0, m.select(m.cmp(P::OEQ, y, 0.0), 1.0, result));
  return onlyF32 ? m.truncf(result, type) : result;
}

/// The logarithm to base 10: exact for powers of ten, because its error is far below half an ulp.
template <class A> typename A::V log10(A &m, typename A::V x) {
  if (!m.isF64(x)) return m.truncf(m.mul(log2(m, m.extf(x, m.f64())), kLog10Of2D[0]), x.getType());
  TwoPart<A> scaled = product(m, log2InTwoParts(m, x), constant(m, kLog10Of2D, x));
  return logOfSpecials(m, x, m.add(scaled.high, scaled.low));
}

} // namespace tessera::functions
