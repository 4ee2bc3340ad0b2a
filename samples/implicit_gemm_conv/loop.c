#include <string.h>

void loop(const float *X, const float *F, float *Y, long N, long H, long W, long C, long K, long R, long S) {
  memset(Y, 0, (size_t)(N * H * W * K) * sizeof(float));
  for (long n = 0; n < N; ++n)
    for (long h = 0; h < H; ++h)
      for (long w = 0; w < W; ++w)
        for (long r = 0; r < R; ++r)
          for (long s = 0; s < S; ++s) {
            const long y = h + r - R / 2, x = w + s - S / 2;
            if (y < 0 || y >= H || x < 0 || x >= W) continue;
            for (long c = 0; c < C; ++c)
              for (long k = 0; k < K; ++k)
                Y[((n * H + h) * W + w) * K + k] +=
                    X[((n * H + y) * W + x) * C + c] * F[((r * S + s) * C + c) * K + k];
          }
}
