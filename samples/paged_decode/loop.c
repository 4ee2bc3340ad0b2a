#include <math.h>
#include <string.h>

void loop(const float *Q, const float *K, const float *V, const int *table, const int *lengths, float *O,
          long B, long H, long G, long D, long T, long M) {
  for (long b = 0; b < B; ++b)
    for (long h = 0; h < H; ++h)
      for (long g = 0; g < G; ++g) {
        const float *q = Q + ((b * H + h) * G + g) * D;
        float *o = O + ((b * H + h) * G + g) * D, top = -INFINITY, total = 0;
        memset(o, 0, (size_t)D * sizeof(float));
        for (long j = 0; j < lengths[b]; ++j) {
          const long at = ((table[b * M + j / T] * T + j % T) * H + h) * D;
          float s = 0;
          for (long d = 0; d < D; ++d)
            s += q[d] * K[at + d];
          s /= sqrtf((float)D);
          const float new = s > top ? s : top, alpha = expf(top - new), p = expf(s - new);
          total = alpha * total + p;
          for (long d = 0; d < D; ++d)
            o[d] = alpha * o[d] + p * V[at + d];
          top = new;
        }
        for (long d = 0; d < D; ++d)
          o[d] /= total;
      }
}
