// cbrt and hypot.
#pragma once
#include "numerics/functions/Log.h"

namespace tessera::functions {

template <class A> typename A::V cbrt(A &m, typename A::V x) {
  using P = typename A::P;
  const bool wide = m.isF64(x);
  auto a = m.abs(x);
  auto [f, e] = splitMantissa(m, a);
  // a = c 2^(3 k) with c in [1/3, 3)
  auto k = m.floor(m.fma(e, 1.0 / 3, m.fconst(0.5, x)));
  auto rest = m.fma(k, -3.0, e); // -1, 0 or 1
  auto isLess = m.cmp(P::OLT, rest, 0.0), isMore = m.cmp(P::OGT, rest, 0.0);
  auto one = m.fconst(1, x);
  auto c = m.mul(m.add(f, 1.0), m.select(isLess, 0.5, m.select(isMore, 2.0, one)));
  auto start =
      m.select(isLess, 0x1.965fea53d6e3dp-1, m.select(isMore, 0x1.428a2f98d728bp+0, one)); // 2^(rest/3)
  auto y = m.mul(m.polynomial(f, wide ? Coefficients(kCbrtD) : kCbrtF), start);
  // Halley: y (1 - (y^3 - c) / (2 y^3 + c))
  auto square = m.mul(y, y);
  auto squareLow = m.fma(y, y, m.neg(square));
  auto excess = m.fma(squareLow, y, m.fma(square, y, m.neg(c)));
  auto slope = m.fma(m.mul(square, y), 2.0, c);
  auto root = m.fma(m.neg(y), m.div(excess, slope), y);
  auto shifted = m.add(k, (wide ? 0x1.8p52 : 0x1.8p23) + (wide ? 1023 : 127));
  auto scale = m.bitcast(m.shl(m.bitcast(shifted, m.wordOf(x)), wide ? 52 : 23), x.getType());
  root = m.mul(root, scale);
  root = m.select(m.cmp(P::OEQ, a, 0.0), a, m.select(m.cmp(P::OLT, a, kInfinity), root, a));
  return m.copySign(root, x);
}

template <class A> typename A::V hypot(A &m, typename A::V x, typename A::V y) {
  using P = typename A::P;
  const auto type = x.getType();
  const bool onlyF32 = !m.isF64(x);
  if (onlyF32) { // squares neither overflow nor underflow in f64
    x = m.extf(x, m.f64());
    y = m.extf(y, m.f64());
  }
  auto ax = m.abs(x), ay = m.abs(y), one = m.fconst(1, x);
  auto isTall = m.cmp(P::OGT, ay, ax);
  auto larger = m.select(isTall, ay, ax), smaller = m.select(isTall, ax, ay);
  auto scale = one, back = one;
  if (!onlyF32) {
    auto isHuge = m.cmp(P::OGT, larger, 0x1p500), isTiny = m.cmp(P::OLT, larger, 0x1p-500);
    scale = m.select(isHuge, 0x1p-600, m.select(isTiny, 0x1p600, one));
    back = m.select(isHuge, 0x1p600, m.select(isTiny, 0x1p-600, one));
    larger = m.mul(larger, scale);
    smaller = m.mul(smaller, scale);
  }
  auto root = m.sqrt(m.fma(larger, larger, m.mul(smaller, smaller)));
  if (!onlyF32) root = m.mul(root, back);
  // An infinity beside a NaN is infinite.
  auto infinite = m.fconst(kInfinity, x);
  root =
      m.select(m.cmp(P::OEQ, ax, infinite), infinite, m.select(m.cmp(P::OEQ, ay, infinite), infinite, root));
  return onlyF32 ? m.truncf(root, type) : root;
}

} // namespace tessera::functions
