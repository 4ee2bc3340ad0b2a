// Functions of f32 by approximating instructions, where a profile permits `approximate`. docs/numerics.md has
// the bounds. A supplies the instructions beside the arithmetic of Arithmetic.h: nearExp2, nearLog2,
// nearInverse.
#pragma once
#include "numerics/functions/Exp.h"

namespace tessera::functions {

template <class A> typename A::V nearExp(A &m, typename A::V x) { return m.nearExp2(m.mul(x, kLog2eF[0])); }
template <class A> typename A::V nearLog(A &m, typename A::V x) { return m.mul(m.nearLog2(x), kLn2F[0]); }

template <class A> typename A::V nearSigmoid(A &m, typename A::V x) {
  return m.nearInverse(m.add(m.nearExp2(m.mul(x, -kLog2eF[0])), 1.0));
}

/// 1 - 2^y as erf computes it. Near zero that cancels, and the tangent is closer.
template <class A> typename A::V nearErf(A &m, typename A::V x) {
  constexpr double kNearZero = 0x1p-6, kSlope = 0x1.20dd76p+0; // 2 / sqrt(pi)
  auto a = m.atMost(m.abs(x), 3.92), square = m.mul(a, a);
  auto y = m.fma(a, kErfSlopeF[0], m.mul(square, evenAndOdd(m, a, square, kErfLogF)));
  auto far = m.sub(m.fconst(1, x), m.nearExp2(y));
  return m.select(m.cmp(A::P::OLT, a, kNearZero), m.mul(x, kSlope), m.copySign(far, x));
}

} // namespace tessera::functions
