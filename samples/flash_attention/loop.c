#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The elements are floats here, rounded to bfloat16. */
void loop(const float *Q, const float *K, const float *V, bool is_causal, float *O, long heads, long Sq,
          long Sk, long D) {
  float p[Sk];
  for (long h = 0; h < heads; ++h)
    for (long i = 0; i < Sq; ++i) {
      const float *q = Q + (h * Sq + i) * D, *keys = K + h * Sk * D, *values = V + h * Sk * D;
      float *o = O + (h * Sq + i) * D, top = -INFINITY, total = 0;
      const long seen = is_causal ? i + 1 + Sk - Sq : Sk;
      for (long j = 0; j < seen; ++j) {
        p[j] = 0;
        for (long d = 0; d < D; ++d)
          p[j] += q[d] * keys[j * D + d];
        p[j] /= sqrtf((float)D);
        top = p[j] > top ? p[j] : top;
      }
      memset(o, 0, (size_t)D * sizeof(float));
      for (long j = 0; j < seen; ++j) {
        total += p[j] = expf(p[j] - top);
        for (long d = 0; d < D; ++d)
          o[d] += p[j] * values[j * D + d];
      }
      for (long d = 0; d < D && total > 0; ++d)
        o[d] /= total;
    }
}
