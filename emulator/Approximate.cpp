// Instructions that approximate functions of f32. Each errs by the whole bound of docs/numerics.md, up or
// down by the bits of its operand, which no device does; so a result within a bound here is within it there.
#include "emulator/Approximate.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::emulator {
namespace {

constexpr double kError = 0x1p-21, kTanhError = 0x1p-11;

/// Subnormal numbers are zeros to these instructions.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

double exact(Approximated which, double x) {
  switch (which) {
  case Approximated::Exp2:
    return std::exp2(x);
  case Approximated::Log2:
    return std::log2(x);
  case Approximated::Sqrt:
    return std::sqrt(x);
  case Approximated::InverseSqrt:
    return 1 / std::sqrt(x);
  case Approximated::Tanh:
    return std::tanh(x);
  }
  return NAN;
}

} // namespace

float approximate(Approximated which, float operand) {
  const float x = flushed(operand);
  const double result = exact(which, x);
  if (!std::isfinite(result)) return static_cast<float>(result);
  const double sign = std::popcount(std::bit_cast<uint32_t>(x)) % 2 ? 1 : -1;
  if (which == Approximated::Log2) // near 1 the bound is absolute
    return static_cast<float>(result + sign * kError * std::max(1.0, std::abs(result)));
  const double error = which == Approximated::Tanh ? kTanhError : kError;
  const float near = flushed(static_cast<float>(result * (1 + sign * error)));
  return which == Approximated::Tanh ? std::clamp(near, -1.0f, 1.0f) : near;
}

} // namespace tessera::emulator
