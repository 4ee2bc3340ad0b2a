// The inverse trigonometric functions.
#pragma once
#include "numerics/functions/Arithmetic.h"
#include "numerics/functions/Coefficients.h"

namespace tessera::functions {

/// Returns base + x + tail with one rounding of consequence. Precondition: |base.high| >= |x| >= |tail|, or
/// base is zero.
template <class A> typename A::V sumOfAngles(A &m, TwoPart<A> base, typename A::V x, typename A::V tail) {
  TwoPart<A> sum = fastSum(m, base.high, x);
  return m.add(sum.high, m.add(sum.low, m.add(base.low, tail)));
}

template <class A> TwoPart<A> multipleOfHalfPi(A &m, double factor, typename A::V like) {
  const Coefficients halfPi = m.isF64(like) ? Coefficients(kHalfPiOfD) : kHalfPiOfF;
  return {m.fconst(factor * halfPi[0], like), m.fconst(factor * halfPi[1], like)};
}

template <class A> TwoPart<A> select(A &m, typename A::V condition, TwoPart<A> x, TwoPart<A> y) {
  return {m.select(condition, x.high, y.high), m.select(condition, x.low, y.low)};
}

/// Returns atan(z) - z for z in [0, 1].
template <class A> typename A::V atanTail(A &m, typename A::V z) {
  auto u = m.mul(z, z);
  auto p = m.polynomial(m.sub(u, 0.5), m.isF64(z) ? Coefficients(kAtanD) : kAtanF);
  return m.mul(m.mul(z, u), p);
}

template <class A> typename A::V atan(A &m, typename A::V x) {
  auto a = m.abs(x), one = m.fconst(1, x), zero = m.fconst(0, x);
  auto isSteep = m.cmp(A::P::OGT, a, 1.0); // pi/2 - atan(1 / a)
  auto z = m.div(m.select(isSteep, one, a), m.select(isSteep, a, one));
  auto tail = atanTail(m, z);
  TwoPart<A> base = select(m, isSteep, multipleOfHalfPi(m, 1, x), {zero, zero});
  auto angle = sumOfAngles(m, base, m.select(isSteep, m.neg(z), z), m.select(isSteep, m.neg(tail), tail));
  return m.copySign(angle, x);
}

/// The angle of the point (x, y).
template <class A> typename A::V atan2(A &m, typename A::V y, typename A::V x) {
  auto ax = m.abs(x), ay = m.abs(y), zero = m.fconst(0, x);
  auto isSteep = m.cmp(A::P::OGT, ay, ax);
  auto smaller = m.select(isSteep, ax, ay), larger = m.select(isSteep, ay, ax);
  auto z = m.div(smaller, larger);
  // Both are zero or infinite.
  auto sameSpecial = m.select(m.cmp(A::P::OEQ, larger, 0.0), zero, m.fconst(1, x));
  z = m.select(m.cmp(A::P::OEQ, smaller, larger), sameSpecial, z);
  auto tail = atanTail(m, z);
  auto word = m.bitcast(x, m.wordOf(x));
  auto signBit = m.andi(word, m.iconst(m.isF64(x) ? kSignF64 : int64_t(1) << 31, word));
  auto isLeft = m.icmp(A::IP::ne, signBit, 0); // also for -0
  TwoPart<A> base = select(m, isLeft, multipleOfHalfPi(m, 2, x), {zero, zero});
  base = select(m, isSteep, multipleOfHalfPi(m, 1, x), base);
  auto isNegative = m.xori(isSteep, isLeft);
  auto angle =
      sumOfAngles(m, base, m.select(isNegative, m.neg(z), z), m.select(isNegative, m.neg(tail), tail));
  return m.copySign(angle, y);
}

/// asin(a) is s + tail for a <= 1/2 and pi/2 - 2 (s + tail) above.
template <class A> struct HalfAngle {
  typename A::V isFar, s, tail;
};

template <class A> HalfAngle<A> halfAngle(A &m, typename A::V a) {
  auto isFar = m.cmp(A::P::OGT, a, 0.5);
  auto half = m.mul(m.sub(m.fconst(1, a), a), 0.5);
  auto u = m.select(isFar, half, m.mul(a, a));
  auto s = m.select(isFar, m.sqrt(half), a);
  auto p = m.polynomial(u, m.isF64(a) ? Coefficients(kAsinD) : kAsinF);
  return {isFar, s, m.mul(m.mul(s, u), p)};
}

template <class A> typename A::V asin(A &m, typename A::V x) {
  auto [isFar, s, tail] = halfAngle(m, m.abs(x));
  auto far = sumOfAngles(m, multipleOfHalfPi(m, 1, x), m.mul(s, -2.0), m.mul(tail, -2.0));
  return m.copySign(m.select(isFar, far, m.add(s, tail)), x);
}

template <class A> typename A::V acos(A &m, typename A::V x) {
  auto [isFar, s, tail] = halfAngle(m, m.abs(x));
  auto isNegative = m.cmp(A::P::OLT, x, 0.0);
  auto zero = m.fconst(0, x);
  // pi/2 - asin(x) near 0; 2 (s + tail) near 1; pi less that near -1
  TwoPart<A> base = select(m, isNegative, multipleOfHalfPi(m, 2, x), {zero, zero});
  base = select(m, isFar, base, multipleOfHalfPi(m, 1, x));
  auto factor = m.select(isFar, m.fconst(2, x), m.fconst(-1, x));
  factor = m.select(isNegative, m.neg(factor), factor);
  return sumOfAngles(m, base, m.mul(s, factor), m.mul(tail, factor));
}

} // namespace tessera::functions
