#include "tools/tsr/FillArguments.h"
#include "numerics/Casts.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace tessera::cli {
namespace {

/// Random elements in [-1, 1), or integers that may be indices of every dim.
void fillRandom(BoundParam &p, int64_t least, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto width = size_t(storageBytes(p.dtype));
  for (size_t i = 0; i < p.elements; ++i) {
    const double unit = double(random() >> 11) * 0x1p-53;
    const double value =
        isFloat(p.dtype) ? 2 * unit - 1 : std::floor(unit * double(std::clamp<int64_t>(least, 1, 8)));
    storeBits(p.initial.data() + i * width, p.dtype, fromDouble(value, p.dtype));
  }
}

} // namespace

bool fillArguments(Binding &binding) {
  int64_t least = INT64_MAX;
  for (const auto &[name, value] : binding.dims)
    least = std::min(least, value);
  uint64_t seed = 1;
  for (BoundParam &p : binding.params) {
    if (!p.isTensor || p.hasInput) continue;
    if (!p.initial.allocate(p.bytes)) return false;
    p.hasInput = true;
    if (p.reads)
      fillRandom(p, least, seed++);
    else if (p.dtype != DType::Bool && !isPacked(p.dtype))
      std::memset(p.initial.data(), 0xff, p.initial.size());
  }
  return true;
}

} // namespace tessera::cli
