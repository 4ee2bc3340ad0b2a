// sin, cos and tan over the whole range of their argument.
#pragma once
#include "numerics/functions/Arithmetic.h"
#include "numerics/functions/Coefficients.h"
#include <array>
#include <cmath>
#include <vector>

namespace tessera::functions {

/// |x| = (4 k + quadrant) pi/2 + high + low with |high| <= pi/4 or slightly more. Only the low two bits of
/// `quadrant`, an i64, are significant.
template <class A> struct Reduced {
  typename A::V quadrant, high, low;
};

template <class A> typename A::V signOf(A &m, typename A::V x) {
  return m.andi(m.bitcast(x, m.i(64)), kSignF64);
}

/// Selects the sine or the cosine of the remainder by the quadrant and applies the sign; the sine is odd in
/// `x`.
template <class A>
typename A::V choose(A &m, typename A::V quadrant, typename A::V sine, typename A::V cosine, bool isCos,
                     typename A::V x) {
  auto isOdd = m.icmp(A::IP::ne, m.andi(quadrant, 1), 0);
  auto value = m.select(isOdd, cosine, sine);
  auto sign = m.shl(m.andi(quadrant, 2), 62);
  if (!isCos) sign = m.xori(sign, signOf(m, x));
  return m.bitcast(m.xori(m.bitcast(value, m.i(64)), sign), value.getType());
}

/// The quadrant of |x| of an f32, extended to f64, and the sine and cosine of what remains: one product with
/// 2/pi, which the constant chosen for the magnitude reduces modulo 4.
template <class A> struct SineAndCosine {
  typename A::V quadrant, sine, cosine;
};

template <class A> SineAndCosine<A> sineAndCosineF32(A &m, typename A::V wide) {
  auto a = m.abs(wide);
  auto high = m.fconst(kQuadrantBandsF[0].high, a), low = m.fconst(kQuadrantBandsF[0].low, a);
  for (size_t k = 1; k < std::size(kQuadrantBandsF); ++k) {
    auto isBeyond = m.cmp(A::P::OGE, a, std::ldexp(1, kQuadrantBandsF[k - 1].bound));
    high = m.select(isBeyond, kQuadrantBandsF[k].high, high);
    low = m.select(isBeyond, kQuadrantBandsF[k].low, low);
  }
  const double magic = 0x1.8p52; // rounds to an integer
  auto shifted = m.fma(a, high, magic);
  auto n = m.sub(shifted, magic);
  auto fraction = m.fma(a, low, m.fma(a, high, m.neg(n)));
  auto r = m.mul(fraction, kHalfPiD[0]);
  auto u = m.mul(r, r);
  auto sine = m.fma(m.mul(r, u), m.polynomial(u, kSinF), r);
  auto cosine = m.fma(u, m.polynomial(u, kCosF), 1.0);
  return {m.bitcast(shifted, m.i(64)), sine, cosine};
}

template <class A> typename A::V sinCosF32(A &m, typename A::V x, bool isCos) {
  auto wide = m.extf(x, m.f64());
  auto [quadrant, sine, cosine] = sineAndCosineF32(m, wide);
  if (isCos) quadrant = m.addi(quadrant, 1);
  return m.truncf(choose(m, quadrant, sine, cosine, isCos, wide), x.getType());
}

template <class A> typename A::V tanF32(A &m, typename A::V x) {
  auto wide = m.extf(x, m.f64());
  auto [quadrant, sine, cosine] = sineAndCosineF32(m, wide);
  auto isOdd = m.icmp(A::IP::ne, m.andi(quadrant, 1), 0);
  auto quotient = m.div(m.select(isOdd, cosine, sine), m.select(isOdd, sine, cosine));
  // -1 / tan in the odd quadrants
  auto sign = m.xori(m.shl(m.andi(quadrant, 1), 63), signOf(m, wide));
  return m.truncf(m.bitcast(m.xori(m.bitcast(quotient, m.i(64)), sign), wide.getType()), x.getType());
}

/// Returns the upper half of the 128-bit product, computed from 32-bit halves: vectors have no wider
/// multiplication.
template <class A> typename A::V multiplyHigh(A &m, typename A::V x, typename A::V y) {
  const int64_t mask = 0xffffffff;
  auto xl = m.andi(x, mask), xh = m.shru(x, 32), yl = m.andi(y, mask), yh = m.shru(y, 32);
  auto middle = m.addi(m.muli(xh, yl), m.shru(m.muli(xl, yl), 32));
  auto other = m.addi(m.muli(xl, yh), m.andi(middle, mask));
  return m.addi(m.muli(xh, yh), m.addi(m.shru(middle, 32), m.shru(other, 32)));
}

/// For |x| below 2^30: subtracts n pi/2 in three parts of 53 bits. The first step is exact.
template <class A> Reduced<A> reduceModerate(A &m, typename A::V a) {
  const double magic = 0x1.8p52;
  auto shifted = m.fma(a, kQuadrantBandsF[0].high, m.fconst(magic, a));
  auto n = m.neg(m.sub(shifted, magic));
  auto first = m.fma(n, kHalfPiD[0], a);
  auto second = m.mul(n, kHalfPiD[1]);
  auto secondLow = m.fma(n, kHalfPiD[1], m.neg(second));
  TwoPart<A> rest = twoSum(m, first, second);
  rest.low = m.add(rest.low, m.fma(n, kHalfPiD[2], secondLow));
  auto sum = m.add(rest.high, rest.low);
  return {m.bitcast(shifted, m.i(64)), sum, m.sub(rest.low, m.sub(sum, rest.high))};
}

/// Payne and Hanek's reduction for |x| >= 2^30: x = M 2^E with a 53-bit integer M. 192 bits of 2^E 2/pi,
/// without its multiples of 4, are taken from the table and multiplied by M, modulo 4.
template <class A> Reduced<A> reduceHuge(A &m, typename A::V a) {
  using V = typename A::V;
  auto word = m.bitcast(a, m.i(64));
  auto mantissa = m.ori(m.andi(word, 0xfffffffffffff), int64_t(1) << 52);
  // The position in the table of the bit with the value 2: E - 2 bits into 2/pi, which begins after 64 zeros.
  auto position = m.addi(m.shru(word, 52), 64 - 1075 - 2);
  // Shift the table by whole words, one bit of the count at a time, keeping the four words that are needed.
  auto wordCount = m.shru(position, 6);
  std::vector<V> words;
  for (unsigned long long entry : kTwoOverPiBits)
    words.push_back(m.iconst(int64_t(entry), word));
  for (int bit = 4; bit >= 0; --bit) {
    auto isSet = m.icmp(A::IP::ne, m.andi(wordCount, 1 << bit), 0);
    const size_t shift = size_t(1) << bit, keep = std::min(words.size(), shift - 1 + 4);
    std::vector<V> next;
    for (size_t k = 0; k < keep; ++k)
      next.push_back(k + shift < words.size() ? m.select(isSet, words[k + shift], words[k]) : words[k]);
    words = next;
  }
  auto bits = m.andi(position, 63);
  // shifts by one, then by 63 - bits, because shifting by 64 is undefined
  auto rest = m.subi(m.iconst(63, word), bits);
  auto window = [&](int k) {
    auto left = m.shl(words[k], bits);
    auto right = m.shru(m.shru(words[k + 1], 1), rest);
    return m.ori(left, right);
  };
  auto w0 = window(0), w1 = window(1), w2 = window(2);
  auto p1 = m.addi(m.muli(mantissa, w1), multiplyHigh(m, mantissa, w2));
  auto carry = m.extu(m.icmp(A::IP::ult, p1, m.muli(mantissa, w1)), m.i(64));
  auto p0 = m.addi(m.addi(m.muli(mantissa, w0), multiplyHigh(m, mantissa, w1)), carry);
  // Two integer bits, then the fraction. Rounding the quadrant to nearest makes the fraction signed.
  auto quadrant = m.shru(m.addi(p0, int64_t(1) << 61), 62);
  auto upper = m.ori(m.shl(p0, 2), m.shru(p1, 62));
  auto lower = m.shl(p1, 2);
  auto top = m.mul(m.sitofp(m.andi(upper, ~int64_t(0x7ff)), m.f64()), 0x1p-64);
  auto tail = m.mul(m.sitofp(m.andi(upper, 0x7ff), m.f64()), 0x1p-64);
  tail = m.fma(m.uitofp(lower, m.f64()), 0x1p-128, tail);
  TwoPart<A> fraction = twoSum(m, top, tail);
  auto r = m.mul(fraction.high, kHalfPiD[0]);
  auto rLow = m.fma(fraction.high, kHalfPiD[0], m.neg(r));
  rLow = m.fma(fraction.low, kHalfPiD[0], m.fma(fraction.high, kHalfPiD[1], rLow));
  return {quadrant, r, rLow};
}

template <class A> Reduced<A> reduceF64(A &m, typename A::V a) {
  using V = typename A::V;
  Reduced<A> moderate = reduceModerate(m, a);
  auto isHuge = m.cmp(A::P::OGE, a, 0x1p30);
  auto chosen = m.ifAny(
      isHuge, std::array<V, 3>{moderate.quadrant, moderate.high, moderate.low}, [&]() -> std::array<V, 3> {
        Reduced<A> huge = reduceHuge(m, a);
        return {m.select(isHuge, huge.quadrant, moderate.quadrant),
                m.select(isHuge, huge.high, moderate.high), m.select(isHuge, huge.low, moderate.low)};
      });
  return {chosen[0], chosen[1], chosen[2]};
}

template <class A> typename A::V sinCosF64(A &m, typename A::V x, bool isCos) {
  auto a = m.abs(x);
  auto [quadrant, r, low] = reduceF64(m, a);
  auto u = m.mul(r, r), half = m.mul(u, 0.5);
  // sin(r + low) = r + (r u P(u) + low (1 - u/2))
  auto sine = m.fma(m.mul(r, u), m.polynomial(u, kSinD), m.fma(m.neg(half), low, low));
  sine = m.add(r, sine);
  // cos(r + low) = 1 - u/2 + (u^2 P(u) - r low), with the rounding error of 1 - u/2
  auto c = m.sub(m.fconst(1, x), half);
  auto lost = m.sub(m.sub(m.fconst(1, x), c), half);
  auto rest = m.fma(m.mul(u, u), m.polynomial(u, kCosD), m.fma(m.neg(r), low, lost));
  auto cosine = m.add(c, rest);
  if (isCos) quadrant = m.addi(quadrant, 1);
  auto result = choose(m, quadrant, sine, cosine, isCos, x);
  // Infinities went through the integer reduction and are corrected here.
  return m.select(m.cmp(A::P::OLT, a, kInfinity), result, m.sub(x, x));
}

/// The quotient of the sine and the cosine, both in two parts.
template <class A> typename A::V tanF64(A &m, typename A::V x) {
  auto a = m.abs(x);
  auto [quadrant, r, low] = reduceF64(m, a);
  auto u = m.mul(r, r), half = m.mul(u, 0.5);
  TwoPart<A> sine = fastSum(m, r, m.fma(m.mul(r, u), m.polynomial(u, kSinD), m.fma(m.neg(half), low, low)));
  auto one = m.fconst(1, x);
  auto c = m.sub(one, half);
  // the rounding error of 1 - u/2, and that of u
  auto lost = m.sub(m.sub(m.sub(one, c), half), m.mul(m.fma(r, r, m.neg(u)), 0.5));
  TwoPart<A> cosine = fastSum(m, c, m.fma(m.mul(u, u), m.polynomial(u, kCosD), m.fma(m.neg(r), low, lost)));
  auto isOdd = m.icmp(A::IP::ne, m.andi(quadrant, 1), 0);
  auto top = m.select(isOdd, cosine.high, sine.high), topLow = m.select(isOdd, cosine.low, sine.low);
  auto bottom = m.select(isOdd, sine.high, cosine.high), bottomLow = m.select(isOdd, sine.low, cosine.low);
  auto reciprocal = m.div(one, bottom);
  auto quotient = m.mul(top, reciprocal);
  auto missing = m.add(m.fma(m.neg(quotient), bottom, top), m.fma(m.neg(quotient), bottomLow, topLow));
  quotient = m.fma(missing, reciprocal, quotient);
  auto sign = m.xori(m.shl(m.andi(quadrant, 1), 63), signOf(m, x));
  auto result = m.bitcast(m.xori(m.bitcast(quotient, m.i(64)), sign), x.getType());
  return m.select(m.cmp(A::P::OLT, a, kInfinity), result, m.sub(x, x));
}

template <class A> typename A::V sin(A &m, typename A::V x) {
  return m.isF64(x) ? sinCosF64(m, x, false) : sinCosF32(m, x, false);
}

template <class A> typename A::V cos(A &m, typename A::V x) {
  return m.isF64(x) ? sinCosF64(m, x, true) : sinCosF32(m, x, true);
}

template <class A> typename A::V tan(A &m, typename A::V x) {
  return m.isF64(x) ? tanF64(m, x) : tanF32(m, x);
}

} // namespace tessera::functions
