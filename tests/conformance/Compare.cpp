#include "tests/conformance/Compare.h"
#include "numerics/Casts.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::conformance {
namespace {

/// Returns the distance between neighbouring values of the dtype around x.
double ulp(double x, DType t) {
  const DTypeInfo &d = info(t);
  const int exponent =
      x == 0 || !std::isfinite(x) ? d.minExponent : std::max<int>(std::ilogb(x), d.minExponent);
  return std::ldexp(1.0, exponent - d.mantissaBits);
}

bool agreeFloat(double got, double want, const Output &o, double bound) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  const bool exact = o.ulps == 0 && o.rtol == 0 && o.atol == 0 && !o.bound;
  if (exact) // -0 differs from +0
    return got == want && std::signbit(got) == std::signbit(want);
  // A double beyond the dtype's range means the value to which the dtype rounds it.
  const double rounded = toDouble(fromDouble(want, o.dtype), o.dtype);
  if (std::isinf(got) || std::isinf(want)) return got == want || got == rounded;
  return std::abs(got - want) <= o.ulps * ulp(want, o.dtype) + o.rtol * std::abs(want) + o.atol + bound ||
         got == rounded;
}

std::string place(size_t index, const std::vector<int64_t> &shape) {
  std::vector<size_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= size_t(shape[d]))
    at[d] = index % size_t(shape[d]);
  return fmt::format("[{}]", fmt::join(at, ", "));
}

int64_t toInt(uint64_t bits, DType t) {
  const int unused = 64 - 8 * storageBytes(t);
  return isUnsigned(t) || t == DType::Bool ? int64_t(bits) : int64_t(bits << unused) >> unused;
}

} // namespace

std::string compare(const Output &o, std::span<const std::byte> got) {
  if (!o.want) return "";
  const size_t width = size_t(storageBytes(o.dtype)), count = o.elements();
  std::vector<std::byte> unpacked(isPacked(o.dtype) ? count : 0);
  if (isPacked(o.dtype)) {
    unpackElements(got.data(), o.dtype, unpacked.data(), count);
    got = unpacked;
  }
  if (o.want->bits.size() != count)
    return fmt::format("the case expects {} elements of a tensor of {}", o.want->bits.size(), count);
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = loadBits(&got[i * width], o.dtype);
    std::string difference;
    if (o.want->isFloat) {
      const double want = std::bit_cast<double>(o.want->bits[i]), value = toDouble(bits, o.dtype);
      const double bound = o.bound ? std::bit_cast<double>(o.bound->bits[i]) : 0;
      if (!agreeFloat(value, want, o, bound)) difference = fmt::format("{} instead of {}", value, want);
    } else if (int64_t want = int64_t(o.want->bits[i]), value = toInt(bits, o.dtype); value != want) {
      difference = fmt::format("{} instead of {}", value, want);
    }
    if (!difference.empty() && wrong++ == 0) first = fmt::format("{} is {}", place(i, o.shape), difference);
  }
  return wrong ? fmt::format("{} of {} elements differ; {}", wrong, count, first) : "";
}

} // namespace tessera::conformance
