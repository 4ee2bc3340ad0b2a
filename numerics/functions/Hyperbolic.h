// expm1, log1p, the hyperbolic functions and their inverses.
#pragma once
#include "numerics/functions/Exp.h"
#include "numerics/functions/Log.h"

namespace tessera::functions {

/// Returns e^x 2^-shift with some bits more than its type, if |x| is below about 711 (90 for f32) and x is
/// not far below zero. `shift` is at least 1, so that the largest results do not overflow.
template <class A> TwoPart<A> expInTwoParts(A &m, typename A::V x, int shift) {
  const bool wide = m.isF64(x);
  const Coefficients ln2 = wide ? Coefficients(kLn2D) : kLn2F, c = wide ? Coefficients(kExpD) : kExpF;
  const double magic = roundingConstant(m, x, twiceBias(m, x) / 2 - shift);
  auto shifted = m.fma(x, wide ? kLog2eD[0] : kLog2eF[0], m.fconst(magic, x));
  auto n = m.sub(shifted, magic);
  // x = n ln 2 + r + rLow; the first difference is exact.
  auto first = m.fma(n, -ln2[0], x);
  auto r = m.fma(n, -ln2[1], first);
  auto rLow = m.fma(n, -ln2[1], m.sub(first, r));
  TwoPart<A> sum = fastSum(m, m.fconst(1, x), r);
  auto curved = m.mul(m.mul(r, r), m.polynomial(r, c.subspan(2)));
  sum = fastSum(m, sum.high, m.add(sum.low, m.fma(rLow, sum.high, curved)));
  auto scale = m.bitcast(m.shl(m.bitcast(shifted, m.wordOf(x)), wide ? 52 : 23), x.getType());
  return {m.mul(sum.high, scale), m.mul(sum.low, scale)};
}

template <class A> typename A::V expm1(A &m, typename A::V x) {
  const bool wide = m.isF64(x);
  // Below the lower bound the result rounds to -1.
  auto bounded = wide ? m.atLeast(m.atMost(x, 710), -60) : m.atLeast(m.atMost(x, 89), -30);
  TwoPart<A> half = expInTwoParts(m, bounded, 1);
  TwoPart<A> sum = twoSum(m, half.high, m.fconst(-0.5, x));
  auto result = m.mul(m.add(sum.high, m.add(sum.low, half.low)), 2.0);
  return m.select(m.cmp(A::P::OLT, m.abs(x), wide ? 0x1p-54 : 0x1p-25), x, result);
}

/// sinh or cosh of a >= 0, halved: e^a / 4 and the quarter of its inverse.
template <class A> typename A::V halfHyperbolic(A &m, typename A::V a, double sign) {
  // The bound is just past where the result becomes infinite.
  TwoPart<A> quarter = expInTwoParts(m, m.atMost(a, m.isF64(a) ? 710.5 : 89.5), 2);
  auto other = m.div(m.fconst(sign / 16, a), quarter.high);
  TwoPart<A> sum = fastSum(m, quarter.high, other);
  return m.add(sum.high, m.add(sum.low, quarter.low));
}

template <class A> typename A::V cosh(A &m, typename A::V x) {
  return m.mul(halfHyperbolic(m, m.abs(x), 1), 2.0);
}

template <class A> typename A::V sinh(A &m, typename A::V x) {
  auto a = m.abs(x), u = m.mul(a, a);
  auto near = m.fma(m.mul(a, u), m.polynomial(u, m.isF64(x) ? Coefficients(kSinhD) : kSinhF), a);
  auto far = m.mul(halfHyperbolic(m, a, -1), 2.0);
  return m.copySign(m.select(m.cmp(A::P::OLT, a, 1.0), near, far), x);
}

/// Returns log(x (1 + correction) 2^doublings) of a positive finite x; the correction is at most about an
/// ulp.
template <class A>
typename A::V correctedLog(A &m, typename A::V x, typename A::V correction, const typename A::V *doublings) {
  auto [f, e] = splitMantissa(m, x);
  if (doublings) e = m.add(e, *doublings);
  if (!m.isF64(x)) {
    auto log1p = m.add(f, m.fma(m.mul(f, f), m.polynomial(f, kLogF), correction));
    return m.fma(e, kLn2F[0], m.fma(e, kLn2F[1], log1p));
  }
  auto large = m.mul(e, kShortLn2D[0]);
  auto sum = m.add(large, f);
  auto lost = m.sub(f, m.sub(sum, large));
  auto small = m.fma(e, kShortLn2D[1], m.add(m.sub(lost, logCorrection(m, f)), correction));
  return m.add(sum, small);
}

template <class A> typename A::V log1p(A &m, typename A::V x) {
  TwoPart<A> sum = twoSum(m, m.fconst(1, x), x);
  auto result = correctedLog<A>(m, sum.high, m.div(sum.low, sum.high), nullptr);
  result = logOfSpecials(m, sum.high, result);
  return m.select(m.cmp(A::P::OLT, m.abs(x), m.isF64(x) ? 0x1p-54 : 0x1p-25), x, result);
}

/// Returns log(a + sqrt(a^2 + sign)), the inverse of the hyperbolic sine or cosine of a >= 0. From `large` on
/// it is log(2 a).
template <class A> typename A::V inverseHyperbolic(A &m, typename A::V a, double sign) {
  auto isLarge = m.cmp(A::P::OGT, a, m.isF64(a) ? 0x1p30 : 0x1p14);
  auto square = m.mul(a, a);
  auto squareLow = m.fma(a, a, m.neg(square));
  TwoPart<A> under = twoSum(m, square, m.fconst(sign, a));
  auto root = m.sqrt(under.high);
  // what is missing from the root's square
  auto missing = m.add(m.fma(m.neg(root), root, under.high), m.add(under.low, squareLow));
  TwoPart<A> sum = sign > 0 ? fastSum(m, root, a) : fastSum(m, a, root);
  auto twice = m.mul(root, 2.0);
  auto correction = m.div(m.fma(sum.low, twice, missing), m.mul(twice, sum.high));
  auto zero = m.fconst(0, a), doublings = m.select(isLarge, m.fconst(1, a), zero);
  auto argument = m.select(isLarge, a, sum.high);
  auto result = correctedLog<A>(m, argument, m.select(isLarge, zero, correction), &doublings);
  return logOfSpecials(m, argument, result);
}

template <class A> typename A::V asinh(A &m, typename A::V x) {
  auto a = m.abs(x), u = m.mul(a, a);
  auto near = m.fma(m.mul(a, u), m.polynomial(u, m.isF64(x) ? Coefficients(kAsinhD) : kAsinhF), a);
  auto far = inverseHyperbolic(m, a, 1);
  return m.copySign(m.select(m.cmp(A::P::OLT, a, 0.5), near, far), x);
}

template <class A> typename A::V acosh(A &m, typename A::V x) {
  auto result = inverseHyperbolic(m, x, -1);
  result = m.select(m.cmp(A::P::OEQ, x, 1.0), 0.0, result);
  return m.select(m.cmp(A::P::OLT, x, 1.0), kNaN, result);
}

template <class A> typename A::V atanh(A &m, typename A::V x) {
  auto a = m.abs(x), u = m.mul(a, a), one = m.fconst(1, x);
  auto near = m.fma(m.mul(a, u), m.polynomial(u, m.isF64(x) ? Coefficients(kAtanhD) : kAtanhF), a);
  // log((1 + a) / (1 - a)) / 2; the difference is exact from 1/2 on.
  TwoPart<A> above = fastSum(m, one, a);
  auto below = m.sub(one, a);
  auto ratio = m.div(above.high, below);
  auto missing = m.add(m.fma(m.neg(ratio), below, above.high), above.low);
  auto log = correctedLog<A>(m, ratio, m.div(missing, above.high), nullptr);
  auto far = m.mul(logOfSpecials(m, ratio, log), 0.5);
  return m.copySign(m.select(m.cmp(A::P::OLT, a, 0.5), near, far), x);
}

} // namespace tessera::functions
