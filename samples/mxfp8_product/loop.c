#include <math.h>
#include <string.h>

/* The elements of A and B are floats here: their values, not their bits. */
void loop(const float *A, const unsigned char *scale_a, const float *B, const unsigned char *scale_b,
          float *C, long M, long N, long G) {
  float part[N];
  for (long m = 0; m < M; ++m) {
    memset(C + m * N, 0, (size_t)N * sizeof(float));
    for (long g = 0; g < G; ++g) {
      memset(part, 0, sizeof part);
      for (long k = 32 * g; k < 32 * g + 32; ++k)
        for (long n = 0; n < N; ++n)
          part[n] += A[m * 32 * G + k] * B[k * N + n];
      const float scale = ldexpf(1, scale_a[m * G + g] - 127);
      for (long n = 0; n < N; ++n)
        C[m * N + n] += part[n] * scale * ldexpf(1, scale_b[g * N + n] - 127);
    }
  }
}
