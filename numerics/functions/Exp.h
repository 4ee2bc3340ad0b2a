// exp, exp2 and the functions built on them: tanh, sigmoid, erf, erfc.
#pragma once
#include "numerics/functions/Arithmetic.h"
#include "numerics/functions/Coefficients.h"

namespace tessera::functions {

/// A polynomial of at least two terms as even(x^2) + x odd(x^2), each by Horner's rule.
template <class A> typename A::V evenAndOdd(A &m, typename A::V x, typename A::V square, Coefficients c) {
  auto partFrom = [&](size_t first) {
    size_t k = c.size() - 1 - (c.size() - 1 - first) % 2;
    auto sum = m.fconst(c[k], x);
    for (; k > first; k -= 2)
      sum = m.fma(sum, square, c[k - 2]);
    return sum;
  };
  auto odd = partFrom(1);
  return m.fma(odd, x, partFrom(0));
}

/// The value mantissa * 2^n, with the mantissa in [sqrt(1/2), sqrt(2)]. The low bits of `word` hold n +
/// `bias`.
template <class A> struct PowerOfE {
  typename A::V mantissa, word;
};

/// Adding 1.5 * 2^mantissaBits rounds to an integer and places it in the low mantissa bits; `bias` makes it
/// positive.
template <class A> double roundingConstant(A &m, typename A::V x, int bias) {
  return (m.isF64(x) ? 0x1.8p52 : 0x1.8p23) + bias;
}

/// Returns e^(x + low) as mantissa and power: x + low = n ln 2 + r. `low` is far below 1 and may be null.
template <class A> PowerOfE<A> splitExp(A &m, typename A::V x, int bias, const typename A::V *low = nullptr) {
  const bool wide = m.isF64(x);
  const Coefficients ln2 = wide ? Coefficients(kLn2D) : kLn2F;
  const double magic = roundingConstant(m, x, bias);
  auto shifted = m.fma(x, wide ? kLog2eD[0] : kLog2eF[0], m.fconst(magic, x));
  auto n = m.sub(shifted, magic);
  auto r = m.fma(n, -ln2[1], m.fma(n, -ln2[0], x));
  if (low) r = m.add(r, *low);
  return {m.polynomial(r, wide ? Coefficients(kExpD) : kExpF), m.bitcast(shifted, m.wordOf(x))};
}

/// Twice the exponent bias of x's type. Multiplying by two powers of two of about half the exponent each
/// reaches every result, down to denormals, and only the last multiplication rounds.
template <class A> int twiceBias(A &m, typename A::V x) { return m.isF64(x) ? 2046 : 254; }

template <class A> typename A::V scaleTwice(A &m, PowerOfE<A> power) {
  auto type = power.mantissa.getType();
  const int mantissaBits = m.isF64(power.mantissa) ? 52 : 23;
  auto half = m.shru(power.word, 1);
  auto first = m.bitcast(m.shl(half, mantissaBits), type);
  auto second = m.bitcast(m.shl(m.subi(power.word, half), mantissaBits), type);
  return m.mul(m.mul(power.mantissa, first), second);
}

/// Returns e^x if the result and its power of two are normal numbers.
template <class A> typename A::V expInRange(A &m, typename A::V x) {
  PowerOfE<A> power = splitExp(m, x, twiceBias(m, x) / 2);
  return m.mul(power.mantissa, m.bitcast(m.shl(power.word, m.isF64(x) ? 52 : 23), x.getType()));
}

template <class A> typename A::V exp(A &m, typename A::V x) {
  // The bounds: just past where the result becomes infinite, and below half of the smallest denormal.
  auto bounded = m.isF64(x) ? m.atLeast(m.atMost(x, 710), -746) : m.atLeast(m.atMost(x, 89), -104);
  return scaleTwice(m, splitExp(m, bounded, twiceBias(m, x)));
}

/// Returns 2^(x + low) with |low| far below 1. `low` may be null; otherwise both are f64.
template <class A> typename A::V exp2InTwoParts(A &m, typename A::V x, const typename A::V *low) {
  const bool wide = m.isF64(x);
  auto bounded = wide ? m.atLeast(m.atMost(x, 1024), -1076) : m.atLeast(m.atMost(x, 128), -151);
  const double magic = roundingConstant(m, x, twiceBias(m, x));
  auto shifted = m.add(bounded, magic);
  auto r = m.sub(bounded, m.sub(shifted, magic));
  const Coefficients c = wide ? Coefficients(kExp2D) : kExp2F;
  auto mantissa = m.polynomial(r, c);
  if (low) { // its contribution is added to the small terms
    auto added = m.mul(m.mul(*low, c[1]), mantissa);
    auto curved = m.fma(m.mul(r, r), m.polynomial(r, c.subspan(2)), added);
    mantissa = m.add(m.fma(r, c[1], curved), 1.0);
  }
  return scaleTwice<A>(m, {mantissa, m.bitcast(shifted, m.wordOf(x))});
}

template <class A> typename A::V exp2(A &m, typename A::V x) { return exp2InTwoParts<A>(m, x, nullptr); }

template <class A> typename A::V sigmoidF64(A &m, typename A::V x) {
  using P = typename A::P;
  // With e = exp(-|x|) <= 1 nothing overflows: 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0.
  auto e = exp(m, m.neg(m.abs(x)));
  auto top = m.select(m.cmp(P::OLT, x, 0.0), e, m.fconst(1, x));
  auto sum = m.add(e, 1.0);
  auto sumLow = m.sub(e, m.sub(sum, 1.0));
  auto reciprocal = m.div(m.fconst(1, x), sum);
  auto quotient = m.mul(top, reciprocal);
  auto remainder = m.fma(m.neg(quotient), sumLow, m.fma(m.neg(quotient), sum, top));
  return m.fma(remainder, reciprocal, quotient);
}

template <class A> typename A::V sigmoid(A &m, typename A::V x) {
  if (m.isF64(x)) return sigmoidF64(m, x);
  // e / (1 + e) with e = exp(-|x|) for x < 0, 1 less that for x >= 0.
  auto e = exp(m, m.neg(m.abs(x)));
  auto left = m.div(e, m.add(e, 1.0));
  return m.select(m.cmp(A::P::OLT, x, 0.0), left, m.sub(m.fconst(1, x), left));
}

/// For f32: tanh(a) for 0 <= a <= 10 by exp2, right from about 1/2 on: 1 - 2 / (e^2a + 1). The error of the
/// rounded factor is damped, because it changes the result by at most half as much.
template <class A> typename A::V tanhFarF32(A &m, typename A::V a) {
  constexpr double factor = 2 * kLog2eF[0];
  const double magic = roundingConstant(m, a, twiceBias(m, a) / 2);
  auto shifted = m.fma(a, factor, m.fconst(magic, a));
  auto r = m.fma(a, factor, m.neg(m.sub(shifted, magic)));
  auto scale = m.bitcast(m.shl(m.bitcast(shifted, m.wordOf(a)), 23), a.getType());
  auto e = m.mul(m.polynomial(r, kExp2F), scale);
  return m.fma(m.inverse(m.add(e, 1.0)), -2.0, m.fconst(1, a));
}

template <class A> typename A::V tanh(A &m, typename A::V x) {
  using P = typename A::P;
  const bool wide = m.isF64(x);
  auto a = m.abs(x), u = m.mul(a, a), one = m.fconst(1, x);
  auto p = wide ? m.polynomial(m.sub(u, 0.5), kTanhD) : m.polynomial(u, kTanhF);
  auto near = m.fma(m.mul(a, u), p, a);
  // Beyond the bounds it rounds to 1.
  auto far = !wide
                 ? tanhFarF32(m, m.atMost(a, 10))
                 : m.sub(one, m.div(m.fconst(2, x), m.add(expInRange(m, m.mul(m.atMost(a, 20), 2.0)), 1.0)));
  return m.copySign(m.select(m.cmp(P::OLT, a, wide ? 1.0 : 0.55), near, far), x);
}

/// Returns erf(x) for |x| <= 1.
template <class A> typename A::V erfNear(A &m, typename A::V x) {
  auto p = m.polynomial(m.sub(m.mul(x, x), 0.5), m.isF64(x) ? Coefficients(kErfD) : kErfF);
  return m.fma(x, p, x);
}

template <class A> typename A::V erfF64(A &m, typename A::V x) {
  auto a = m.abs(x);
  auto near = erfNear(m, a);
  // 1 - erfc(1) exp(t P(t)) with t = a - 1, which is exact; beyond the bound it rounds to 1.
  auto t = m.sub(m.atMost(a, 6), 1.0);
  auto tail = m.mul(t, m.polynomial(t, kErfTailD));
  auto far = m.fma(expInRange(m, tail), -kErfcOneD[0], m.fconst(1, x));
  return m.copySign(m.select(m.cmp(A::P::OLT, a, 1.0), near, far), x);
}

/// For f32: 1 - 2^y with y = log2(1 - erf(a)), a polynomial in a without a branch and without a division. Of
/// 2^y = 2^n (1 + p) both 1 - 2^n and 2^n p are exact or small beside the result, also near zero, where n is
/// 0. The even and the odd terms of the longer polynomial are summed apart, which halves the time of its
/// chain.
template <class A> typename A::V erf(A &m, typename A::V x) {
  if (m.isF64(x)) return erfF64(m, x);
  auto a = m.atMost(m.abs(x), 3.92), square = m.mul(a, a); // beyond the bound it rounds to 1
  auto y = m.fma(a, kErfSlopeF[0], m.mul(square, evenAndOdd(m, a, square, kErfLogF)));
  const double magic = roundingConstant(m, x, twiceBias(m, x) / 2);
  auto shifted = m.add(y, magic);
  auto r = m.sub(y, m.sub(shifted, magic));
  auto p = m.mul(r, m.polynomial(r, kExp2MinusOneF));
  auto scale = m.bitcast(m.shl(m.bitcast(shifted, m.wordOf(x)), 23), x.getType());
  return m.copySign(m.fma(m.neg(scale), p, m.sub(m.fconst(1, x), scale)), x);
}

/// 1 - erf(x) near zero, else e^(-a^2) P(t) / (1 + 2 a), a = |x|, or 2 less that. Beyond the bound it rounds
/// to zero.
template <class A> typename A::V erfc(A &m, typename A::V x) {
  const bool wide = m.isF64(x);
  auto a = m.atMost(m.abs(x), wide ? 28 : 11);
  auto t = m.div(m.sub(a, 2.0), m.add(a, 2.0));
  auto p = m.div(m.polynomial(t, wide ? Coefficients(kErfcD) : kErfcF), m.fma(a, 2.0, m.fconst(1, x)));
  auto square = m.mul(a, a);
  auto squareLow = m.fma(m.neg(a), a, square);
  PowerOfE<A> power = splitExp<A>(m, m.neg(square), twiceBias(m, x), &squareLow);
  power.mantissa = m.mul(power.mantissa, p);
  auto right = scaleTwice(m, power);
  auto far = m.select(m.cmp(A::P::OLT, x, 0.0), m.sub(m.fconst(2, x), right), right);
  auto near = m.sub(m.fconst(1, x), erfNear(m, x));
  return m.select(m.cmp(A::P::OLT, m.abs(x), 0.5), near, far);
}

} // namespace tessera::functions
