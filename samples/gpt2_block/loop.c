#include <math.h>
#include <stdlib.h>
#include <string.h>

/* out[M, N] = x[M, K] W[K, N] + bias */
static void linear(const float *x, const float *W, const float *bias, float *out, long M, long K, long N) {
  for (long m = 0; m < M; ++m) {
    memcpy(out + m * N, bias, (size_t)N * sizeof(float));
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < N; ++n)
        out[m * N + n] += x[m * K + k] * W[k * N + n];
  }
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

/* Attention of one query to the keys up to its own; rows of queries, keys and values are `stride` apart. */
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

void loop(const float *x, const float *gamma1, const float *beta1, const float *W_qkv, const float *b_qkv,
          const float *W_out, const float *b_out, const float *gamma2, const float *beta2, const float *W_up,
          const float *b_up, const float *W_down, const float *b_down, float *out, long B, long S, long H,
          long K, long F) {
  const long D = H * K, M = B * S;
  float *n = malloc((size_t)(M * D) * sizeof(float)),
        *wide = malloc((size_t)(M * (F > 3 * D ? F : 3 * D)) * sizeof(float));
  float *y = malloc((size_t)(M * D) * sizeof(float));
  layer_norm(x, gamma1, beta1, n, M, D);
  linear(n, W_qkv, b_qkv, wide, M, D, 3 * D);
  for (long b = 0; b < B; ++b)
    for (long s = 0; s < S; ++s)
      for (long h = 0; h < H; ++h) {
        const float *first = wide + b * S * 3 * D + h * K; /* the first token's query */
        attend(first + s * 3 * D, first + D, first + 2 * D, y + (b * S + s) * D + h * K, s + 1, K, 3 * D);
      }
  linear(y, W_out, b_out, n, M, D, D);
  for (long i = 0; i < M * D; ++i)
    y[i] = x[i] + n[i];
  layer_norm(y, gamma2, beta2, n, M, D);
  linear(n, W_up, b_up, wide, M, D, F);
  for (long i = 0; i < M * F; ++i)
    wide[i] = wide[i] / 2 * (1 + tanhf(0.7978845608f * (wide[i] + 0.044715f * wide[i] * wide[i] * wide[i])));
  linear(wide, W_down, b_down, out, M, F, D);
  for (long i = 0; i < M * D; ++i)
    out[i] += y[i];
  free(n);
  free(wide);
  free(y);
}
