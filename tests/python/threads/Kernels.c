/* The kernels of threads_test.py as the compiler's images export them: y = x + a in programs of 16 elements,
 * and one that takes a while. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static float scalar(uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  float out;
  memcpy(&out, &low, sizeof out);
  return out;
}

EXPORT void add(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  const float *x = (const float *)(uintptr_t)values[0];
  float *y = (float *)(uintptr_t)values[1];
  const int64_t n = (int64_t)values[3];
  (void)scratch;
  for (int64_t i = begin * 16; i < end * 16 && i < n; ++i)
    y[i] = x[i] + scalar(values[2]);
}

EXPORT void slow(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  usleep(2000);
  add(values, begin, end, scratch);
}
