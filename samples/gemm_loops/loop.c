#include <string.h>

void loop(const float *A, const float *B, float *C, long M, long K, long N) {
  memset(C, 0, (size_t)(M * N) * sizeof(float));
  for (long m = 0; m < M; ++m)
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < N; ++n)
        C[m * N + n] += A[m * K + k] * B[k * N + n];
}
