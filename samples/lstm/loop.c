#include <math.h>
#include <stdlib.h>
#include <string.h>

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* out += x W for one row. */
static void add_product(const float *x, const float *W, float *out, long K, long N) {
  for (long k = 0; k < K; ++k)
    for (long n = 0; n < N; ++n)
      out[n] += x[k] * W[k * N + n];
}

void loop(const float *X, const float *W, const float *U, const float *bias, float *Y, long T, long B, long D,
          long H) {
  float *c = calloc((size_t)(B * H), sizeof(float)), *g = malloc((size_t)(4 * H) * sizeof(float));
  for (long t = 0; t < T; ++t)
    for (long b = 0; b < B; ++b) {
      memcpy(g, bias, (size_t)(4 * H) * sizeof(float));
      add_product(X + (t * B + b) * D, W, g, D, 4 * H);
      if (t > 0) add_product(Y + ((t - 1) * B + b) * H, U, g, H, 4 * H);
      for (long i = 0; i < H; ++i) {
        float *cell = c + b * H + i;
        *cell = sigmoid(g[H + i]) * *cell + sigmoid(g[i]) * tanhf(g[2 * H + i]);
        Y[(t * B + b) * H + i] = sigmoid(g[3 * H + i]) * tanhf(*cell);
      }
    }
  free(c);
  free(g);
}
