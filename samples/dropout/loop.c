#include <stdint.h>

static uint32_t philox(uint64_t seed, uint64_t offset) {
  uint32_t c0 = (uint32_t)offset, c1 = (uint32_t)(offset >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = (uint64_t)0xD2511F53u * c0, q = (uint64_t)0xCD9E8D57u * c2;
    const uint32_t n0 = (uint32_t)(q >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)q;
    c3 = (uint32_t)p;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c0;
}

void loop(const float *x, long seed, float p, float *y, long n) {
  for (long i = 0; i < n; ++i)
    y[i] = (float)(philox((uint64_t)seed, (uint64_t)i) >> 8) * 0x1p-24f >= p ? x[i] / (1 - p) : 0;
}
