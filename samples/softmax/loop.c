#include <math.h>

void loop(const float *X, float *Y, long R, long C) {
  for (long r = 0; r < R; ++r) {
    const float *x = X + r * C;
    float *y = Y + r * C, top = -INFINITY, total = 0;
    for (long c = 0; c < C; ++c)
      top = x[c] > top ? x[c] : top;
    for (long c = 0; c < C; ++c)
      total += y[c] = expf(x[c] - top);
    for (long c = 0; c < C; ++c)
      y[c] /= total;
  }
}
