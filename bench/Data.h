// Random test data, identical on every run, and bf16 on the host.
#pragma once
#include "numerics/Casts.h"
#include <cstdint>
#include <random>
#include <vector>

namespace tessera::bench {

inline std::vector<float> randomFloats(size_t count, uint64_t seed, float low = -1, float high = 1) {
  std::mt19937_64 bits(seed);
  std::vector<float> out(count);
  for (float &x : out)
    x = low + (high - low) * float(bits() >> 40) * 0x1p-24f;
  return out;
}

inline std::vector<uint16_t> toBf16(const std::vector<float> &values) {
  std::vector<uint16_t> out(values.size());
  castArray(values.data(), DType::F32, out.data(), DType::BF16, values.size());
  return out;
}

inline std::vector<float> fromBf16(const std::vector<uint16_t> &values) {
  std::vector<float> out(values.size());
  castArray(values.data(), DType::BF16, out.data(), DType::F32, values.size());
  return out;
}

} // namespace tessera::bench
