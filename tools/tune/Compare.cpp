#include "tools/tune/Compare.h"
#include "numerics/Casts.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace tessera::tune {

std::string differences(DType dtype, std::span<const std::byte> base, std::span<const std::byte> got,
                        bool isExact, double terms) {
  const auto width = static_cast<size_t>(storageBytes(dtype));
  const size_t count = base.size() / width;
  if (base.size() != got.size()) return fmt::format("{} bytes instead of {}", got.size(), base.size());
  if (base.empty() || std::memcmp(base.data(), got.data(), base.size()) == 0) return "";
  const bool isFloating = isFloat(dtype);
  auto value = [&](std::span<const std::byte> bytes, size_t i) {
    return toDouble(loadBits(&bytes[i * width], dtype), dtype);
  };
  double largest = 0;
  for (size_t i = 0; isFloating && !isExact && i < count; ++i)
    if (const double v = std::abs(value(base, i)); std::isfinite(v)) largest = std::max(largest, v);
  // Narrow results are sums in f32 that are rounded once.
  const double unit = std::ldexp(1.0, -info(dtype).mantissaBits);
  const double sums =
      (dtype == DType::F64 ? unit : std::ldexp(1.0, -23)) * (16 + 4 * std::sqrt(terms)) * largest;
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t expected = loadBits(&base[i * width], dtype), found = loadBits(&got[i * width], dtype);
    if (expected == found) continue;
    const double a = toDouble(expected, dtype), b = toDouble(found, dtype);
    const bool mayDiffer = isFloating && !isExact;
    const bool agrees = std::isfinite(a) && std::isfinite(b)
                            ? mayDiffer && std::abs(a - b) <= sums + 2 * unit * std::abs(a)
                            : mayDiffer && std::isnan(a) && std::isnan(b);
    if (agrees) continue;
    if (wrong++ == 0) first = fmt::format("element {} is {} instead of {}", i, b, a);
  }
  return wrong ? fmt::format("{} of {} elements differ; {}", wrong, count, first) : "";
}

} // namespace tessera::tune
