#include <math.h>
#include <stdlib.h>
#include <string.h>

/* out[M, N] += x[M, K] W[K, N] */
static void add_product(const float *x, const float *W, float *out, long M, long K, long N) {
  for (long m = 0; m < M; ++m)
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < N; ++n)
        out[m * N + n] += x[m * K + k] * W[k * N + n];
}

static void layer_norm(const float *x, const float *gamma, const float *beta, float *out, long M, long D) {
  for (long m = 0; m < M; ++m) {
    float mean = 0, squares = 0;
    for (long d = 0; d < D; ++d)
      mean += x[m * D + d];
    mean /= (float)D;
    for (long d = 0; d < D; ++d)
      squares += (x[m * D + d] - mean) * (x[m * D + d] - mean);
    const float scale = 1 / sqrtf(squares / (float)D + 1e-5f);
    for (long d = 0; d < D; ++d)
      out[m * D + d] = (x[m * D + d] - mean) * scale * gamma[d] + beta[d];
  }
}

/* Attention of one query to the keys up to its own; rows of keys and values are `stride` apart. */
static void attend(const float *q, const float *keys, const float *values, float *out, long count, long K,
                   long stride) {
  float p[count], top = -INFINITY, total = 0;
  for (long j = 0; j < count; ++j) {
    p[j] = 0;
    for (long k = 0; k < K; ++k)
      p[j] += q[k] * keys[j * stride + k];
    p[j] /= sqrtf((float)K);
    top = p[j] > top ? p[j] : top;
  }
  memset(out, 0, (size_t)K * sizeof(float));
  for (long j = 0; j < count; ++j) {
    total += p[j] = expf(p[j] - top);
    for (long k = 0; k < K; ++k)
      out[k] += p[j] * values[j * stride + k];
  }
  for (long k = 0; k < K; ++k)
    out[k] /= total;
}

static float *zeros(long n) { return calloc((size_t)n, sizeof(float)); }

void loop(const float *x, const float *gamma1, const float *beta1, const float *Wq, const float *Wk,
          const float *Wv, const float *Wo, const float *gamma2, const float *beta2, const float *W1,
          const float *b1, const float *W2, const float *b2, float *out, long B, long S, long D, long H,
          long K, long F) {
  const long M = B * S, HK = H * K;
  float *n = zeros(M * D), *q = zeros(M * HK), *k = zeros(M * HK), *v = zeros(M * HK), *y = zeros(M * HK),
        *h = zeros(M * F);
  layer_norm(x, gamma1, beta1, n, M, D);
  add_product(n, Wq, q, M, D, HK);
  add_product(n, Wk, k, M, D, HK);
  add_product(n, Wv, v, M, D, HK);
  for (long b = 0; b < B; ++b)
    for (long s = 0; s < S; ++s)
      for (long head = 0; head < H; ++head) {
        const long at = (b * S + s) * HK + head * K, first = b * S * HK + head * K;
        attend(q + at, k + first, v + first, y + at, s + 1, K, HK);
      }
  memcpy(out, x, (size_t)(M * D) * sizeof(float));
  add_product(y, Wo, out, M, HK, D);
  layer_norm(out, gamma2, beta2, n, M, D);
  for (long i = 0; i < M * F; ++i)
    h[i] = b1[i % F];
  add_product(n, W1, h, M, D, F);
  for (long i = 0; i < M * F; ++i)
    h[i] = h[i] / 2 * (1 + tanhf(0.7978845608f * (h[i] + 0.044715f * h[i] * h[i] * h[i])));
  for (long i = 0; i < M * D; ++i)
    out[i] += b2[i % D];
  add_product(h, W2, out, M, F, D);
  float *all[] = {n, q, k, v, y, h};
  for (int i = 0; i < 6; ++i)
    free(all[i]);
}
