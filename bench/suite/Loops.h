// Plain C++ loops that generated code is compared with, compiled at -O3 for the processor they run on.
#pragma once
#include <cstdint>

namespace tessera::bench {

float sumLoop(const float *x, int64_t n);
/// Adds 1 to the bin of each value of [0, 1).
void countLoop(const float *x, int64_t n, int32_t *counts, int64_t bins);

} // namespace tessera::bench
