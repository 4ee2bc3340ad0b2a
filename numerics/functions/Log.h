// log, log2 and rsqrt.
#pragma once
#include "numerics/functions/Arithmetic.h"
#include "numerics/functions/Coefficients.h"

namespace tessera::functions {

/// A positive number as (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)). e is a float.
template <class A> struct SplitFloat {
  typename A::V f, e;
};

template <class A> SplitFloat<A> splitMantissa(A &m, typename A::V x) {
  using P = typename A::P;
  const bool wide = m.isF64(x);
  const int mantissaBits = wide ? 52 : 23;
  const int64_t sqrtHalf = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  const double scale = wide ? 0x1p52 : 0x1p23;
  auto isDenormal = m.cmp(P::OLT, x, wide ? 0x1p-1022 : 0x1p-126);
  auto word = m.bitcast(m.select(isDenormal, m.mul(x, scale), x), m.wordOf(x));
  // The upper bits of the distance to sqrt(1/2) hold the required exponent.
  auto distance = m.subi(word, sqrtHalf);
  auto exponent = m.shrs(distance, mantissaBits);
  auto mantissa = m.bitcast(m.subi(word, m.shl(exponent, mantissaBits)), x.getType());
  auto e = m.sitofp(m.trunci(exponent, m.i(32)), x.getType());
  e = m.select(isDenormal, m.sub(e, double(mantissaBits)), e);
  return {m.sub(mantissa, 1.0), e};
}

/// Handles zero, negative, infinite and NaN arguments; `result` is right for all others.
template <class A> typename A::V logOfSpecials(A &m, typename A::V x, typename A::V result) {
  using P = typename A::P;
  result = m.select(m.cmp(P::OLT, x, kInfinity), result, x); // inf and NaN are their own logarithm
  result = m.select(m.cmp(P::OEQ, x, 0.0), -kInfinity, result);
  return m.select(m.cmp(P::OLT, x, 0.0), kNaN, result);
}

/// For f64: f - log(1 + f) = f^2 / 2 - s (f^2 / 2 + z P(z)) with s = f / (2 + f). The large first term is
/// exact, because it is part of the fma; s and its errors scale only the small second term.
template <class A> typename A::V logCorrection(A &m, typename A::V f) {
  auto s = m.div(f, m.add(f, 2.0));
  auto z = m.mul(s, s);
  auto half = m.mul(f, 0.5);
  auto rest = m.mul(s, m.fma(z, m.polynomial(z, kLogD), m.mul(half, f)));
  return m.fma(half, f, m.neg(rest));
}

template <class A> typename A::V log(A &m, typename A::V x) {
  auto [f, e] = splitMantissa(m, x);
  if (!m.isF64(x)) {
    auto log1p = m.fma(m.mul(f, f), m.polynomial(f, kLogF), f);
    return logOfSpecials(m, x, m.fma(e, kLn2F[0], m.fma(e, kLn2F[1], log1p)));
  }
  // e ln 2 + f - correction: the first product is exact, and the error of its sum with f joins the small
  // terms.
  auto large = m.mul(e, kShortLn2D[0]);
  auto sum = m.add(large, f);
  auto lost = m.sub(f, m.sub(sum, large));
  auto small = m.fma(e, kShortLn2D[1], m.sub(lost, logCorrection(m, f)));
  return logOfSpecials(m, x, m.add(sum, small));
}

template <class A> typename A::V log2(A &m, typename A::V x) {
  auto [f, e] = splitMantissa(m, x);
  if (!m.isF64(x)) {
    auto rest = m.mul(m.mul(f, f), m.polynomial(f, kLog2F));
    auto fraction = m.fma(f, kLog2eF[0], m.fma(f, kLog2eF[1], rest));
    return logOfSpecials(m, x, m.add(e, fraction));
  }
  // log(1 + f) and its product with 1 / ln 2 in two parts, so that the sum with e rounds once.
  auto correction = logCorrection(m, f);
  auto high = m.sub(f, correction);
  auto low = m.sub(m.sub(f, high), correction);
  auto scaled = m.mul(high, kLog2eD[0]);
  auto scaledLow = m.fma(high, kLog2eD[0], m.neg(scaled));
  scaledLow = m.add(scaledLow, m.fma(low, kLog2eD[0], m.mul(high, kLog2eD[1])));
  auto sum = m.add(e, scaled);
  // |e| >= 1 > |scaled|, or e is zero and the sum is exact.
  auto lost = m.sub(scaled, m.sub(sum, e));
  return logOfSpecials(m, x, m.add(sum, m.add(lost, scaledLow)));
}

template <class A> typename A::V rsqrt(A &m, typename A::V x) {
  using P = typename A::P;
  const bool wide = m.isF64(x);
  // The residuals below must not underflow.
  auto isSmall = m.cmp(P::OLT, x, wide ? 0x1p-900 : 0x1p-100);
  auto scaled = m.select(isSmall, m.mul(x, wide ? 0x1p104 : 0x1p48), x);
  auto root = m.sqrt(scaled);
  auto y = m.div(m.fconst(1, x), root);
  // 1 / sqrt(x) = y (1 + e - d y^2 / 2) with the exact residuals e = 1 - root y, d = x - root^2.
  auto d = m.fma(m.neg(root), root, scaled);
  auto e = m.fma(m.neg(root), y, 1.0);
  auto factor = m.fma(m.mul(d, y), m.mul(y, -0.5), e);
  auto refined = m.fma(y, factor, y);
  auto result = m.select(m.isNaN(refined), y, refined); // 0, inf and negative arguments
  return m.select(isSmall, m.mul(result, wide ? 0x1p52 : 0x1p24), result);
}

} // namespace tessera::functions
