#include <math.h>
#include <stdlib.h>
#include <string.h>

/* out[M, N] = x[M, K] W[K, N] */
static void linear(const float *x, const float *W, float *out, long M, long K, long N) {
  memset(out, 0, (size_t)(M * N) * sizeof(float));
  for (long m = 0; m < M; ++m)
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < N; ++n)
        out[m * N + n] += x[m * K + k] * W[k * N + n];
}

static void rms_norm(const float *x, const float *gamma, float *out, long M, long D) {
  for (long m = 0; m < M; ++m) {
    float squares = 0;
    for (long d = 0; d < D; ++d)
      squares += x[m * D + d] * x[m * D + d];
    const float scale = 1 / sqrtf(squares / (float)D + 1e-6f);
    for (long d = 0; d < D; ++d)
      out[m * D + d] = x[m * D + d] * scale * gamma[d];
  }
}

/* Rotates the heads of each row, whose position is its number modulo S. */
static void rotate(float *x, long M, long S, long heads) {
  for (long m = 0; m < M; ++m)
    for (long i = 0; i < 32; ++i) {
      const double angle = (double)(m % S) * pow(10000, -(double)i / 32);
      const float c = (float)cos(angle), s = (float)sin(angle);
      for (long h = 0; h < heads; ++h) {
        float *at = x + (m * heads + h) * 64 + i, a = at[0], b = at[32];
        at[0] = a * c - b * s;
        at[32] = b * c + a * s;
      }
    }
}

/* Attention of one query to the keys up to its own; rows of keys and values are `stride` apart. */
static void attend(const float *q, const float *keys, const float *values, float *out, long count,
                   long stride) {
  float p[count], top = -INFINITY, total = 0;
  for (long j = 0; j < count; ++j) {
    p[j] = 0;
    for (long k = 0; k < 64; ++k)
      p[j] += q[k] * keys[j * stride + k];
    p[j] /= 8;
    top = p[j] > top ? p[j] : top;
  }
  memset(out, 0, 64 * sizeof(float));
  for (long j = 0; j < count; ++j) {
    total += p[j] = expf(p[j] - top);
    for (long k = 0; k < 64; ++k)
      out[k] += p[j] * values[j * stride + k];
  }
  for (long k = 0; k < 64; ++k)
    out[k] /= total;
}

static float *floats(long n) { return malloc((size_t)n * sizeof(float)); }

void loop(const float *x, const float *gamma1, const float *Wq, const float *Wk, const float *Wv,
          const float *Wo, const float *gamma2, const float *W_gate, const float *W_up, const float *W_down,
          float *out, long B, long S, long D, long G, long R, long F) {
  const long M = B * S, H = G * R;
  float *n = floats(M * D), *q = floats(M * H * 64), *k = floats(M * G * 64), *v = floats(M * G * 64),
        *y = floats(M * H * 64);
  float *gate = floats(M * F), *up = floats(M * F);
  rms_norm(x, gamma1, n, M, D);
  linear(n, Wq, q, M, D, H * 64);
  linear(n, Wk, k, M, D, G * 64);
  linear(n, Wv, v, M, D, G * 64);
  rotate(q, M, S, H);
  rotate(k, M, S, G);
  for (long b = 0; b < B; ++b)
    for (long s = 0; s < S; ++s)
      for (long h = 0; h < H; ++h) {
        const long query = ((b * S + s) * H + h) * 64, first = (b * S * G + h / R) * 64;
        attend(q + query, k + first, v + first, y + query, s + 1, G * 64);
      }
  float *z = floats(M * D);
  linear(y, Wo, z, M, H * 64, D);
  for (long i = 0; i < M * D; ++i)
    z[i] += x[i];
  rms_norm(z, gamma2, n, M, D);
  linear(n, W_gate, gate, M, D, F);
  linear(n, W_up, up, M, D, F);
  for (long i = 0; i < M * F; ++i)
    gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
  linear(gate, W_down, out, M, F, D);
  for (long i = 0; i < M * D; ++i)
    out[i] += z[i];
  float *all[] = {n, q, k, v, y, gate, up, z};
  for (int i = 0; i < 8; ++i)
    free(all[i]);
}
