// The interface over which the sequences of the elementary functions are written.
//
// A sequence is a template over an arithmetic `A` with values `A::V`, so that it exists only once: the
// compiler's arithmetic emits operations (compiler/tile/Transforms/ExpandMathBuilder.h), the host's
// arithmetic computes (HostArithmetic.h). Both round every operation once to nearest even, keep denormals,
// and never contract; `fma` rounds once.
//
// A must provide: add sub mul div neg abs sqrt fma floor polynomial copySign cmp isNaN select atMost atLeast
// on floats; icmp addi subi muli andi ori xori shl shru shrs on integers; bitcast extf truncf extu trunci
// sitofp uitofp; f32 f64 i(bits) wordOf as types; fconst iconst; ifAny; and inverse: 1 / x, if 1 <= |x| <
// 2^100.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

namespace tessera::functions {

using Coefficients = std::span<const double>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr int64_t kSignF64 = std::numeric_limits<int64_t>::min();

/// The value high + low, with |low| <= ulp(high) / 2.
template <class A> struct TwoPart {
  typename A::V high, low;
};

/// Returns x + y. Precondition: |x| >= |y|, or x is zero.
template <class A> TwoPart<A> fastSum(A &m, typename A::V x, typename A::V y) {
  auto sum = m.add(x, y);
  return {sum, m.sub(y, m.sub(sum, x))};
}

/// Returns x + y for any order of magnitudes.
template <class A> TwoPart<A> twoSum(A &m, typename A::V x, typename A::V y) {
  auto high = m.add(x, y);
  auto yPart = m.sub(high, x);
  auto xPart = m.sub(high, yPart);
  return {high, m.add(m.sub(x, xPart), m.sub(y, yPart))};
}

/// Returns x * y without the product of the low parts.
template <class A> TwoPart<A> product(A &m, TwoPart<A> x, TwoPart<A> y) {
  auto high = m.mul(x.high, y.high);
  auto low = m.fma(x.high, y.high, m.neg(high));
  return {high, m.fma(x.high, y.low, m.fma(x.low, y.high, low))};
}

template <class A> TwoPart<A> constant(A &m, const double (&parts)[2], typename A::V like) {
  return {m.fconst(parts[0], like), m.fconst(parts[1], like)};
}

} // namespace tessera::functions
