#include <math.h>
#include <string.h>

void loop(const float *X, const float *router, const float *W, float *Y, long T, long D, long E, long F) {
  for (long t = 0; t < T; ++t) {
    float scores[E], top = -INFINITY, total = 0;
    long expert = 0;
    memset(scores, 0, sizeof scores);
    for (long d = 0; d < D; ++d)
      for (long e = 0; e < E; ++e)
        scores[e] += X[t * D + d] * router[d * E + e];
    for (long e = 0; e < E; ++e)
      if (scores[e] > top) {
        top = scores[e];
        expert = e;
      }
    for (long e = 0; e < E; ++e)
      total += expf(scores[e] - top);
    float *y = Y + t * F;
    memset(y, 0, (size_t)F * sizeof(float));
    for (long d = 0; d < D; ++d)
      for (long f = 0; f < F; ++f)
        y[f] += X[t * D + d] * W[(expert * D + d) * F + f];
    for (long f = 0; f < F; ++f)
      y[f] /= total;
  }
}
