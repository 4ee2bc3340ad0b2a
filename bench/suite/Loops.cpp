#include "bench/suite/Loops.h"

namespace tessera::bench {

float sumLoop(const float *x, int64_t n) {
  float sum = 0;
#pragma clang loop vectorize_width(16) interleave_count(8)
  for (int64_t i = 0; i < n; ++i)
    sum += x[i];
  return sum;
}

void countLoop(const float *x, int64_t n, int32_t *counts, int64_t bins) {
  const auto limit = static_cast<float>(bins);
  for (int64_t i = 0; i < n; ++i)
    if (const float part = x[i] * limit; part >= 0 && part < limit) ++counts[static_cast<int32_t>(part)];
}

} // namespace tessera::bench
