#include <math.h>
#include <string.h>

void loop(const float *A, float *L, long B, long N) {
  memset(L, 0, (size_t)(B * N * N) * sizeof(float));
  for (long b = 0; b < B; ++b) {
    const float *a = A + b * N * N;
    float *l = L + b * N * N;
    for (long i = 0; i < N; ++i)
      for (long j = 0; j <= i; ++j) {
        float sum = a[i * N + j];
        for (long k = 0; k < j; ++k)
          sum -= l[i * N + k] * l[j * N + k];
        l[i * N + j] = i == j ? sqrtf(sum) : sum / l[j * N + j];
      }
  }
}
