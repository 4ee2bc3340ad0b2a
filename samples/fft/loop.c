#include <math.h>
#include <string.h>

/* Stockham's form by two buffers, with a table of factors. */
void loop(const float *re, const float *im, float *out_re, float *out_im, long B, long N) {
  float x0[N], y0[N], x1[N], y1[N], cosines[N], sines[N];
  for (long p = 0; p < N / 2; ++p) {
    cosines[p] = (float)cos(-2 * M_PI * (double)p / (double)N);
    sines[p] = (float)sin(-2 * M_PI * (double)p / (double)N);
  }
  for (long b = 0; b < B; ++b) {
    float *x = x0, *y = y0, *X = x1, *Y = y1;
    memcpy(x, re + b * N, (size_t)N * sizeof(float));
    memcpy(y, im + b * N, (size_t)N * sizeof(float));
    for (long s = 1, m = N / 2; m > 0; s *= 2, m /= 2) {
      for (long p = 0; p < m; ++p) {
        const float c = cosines[p * s], d = sines[p * s];
        for (long q = 0; q < s; ++q) {
          const float ax = x[p * s + q], ay = y[p * s + q], bx = x[(p + m) * s + q], by = y[(p + m) * s + q];
          const float u = ax - bx, v = ay - by;
          X[2 * p * s + q] = ax + bx;
          Y[2 * p * s + q] = ay + by;
          X[(2 * p + 1) * s + q] = u * c - v * d;
          Y[(2 * p + 1) * s + q] = u * d + v * c;
        }
      }
      float *t = x;
      x = X;
      X = t;
      t = y;
      y = Y;
      Y = t;
    }
    memcpy(out_re + b * N, x, (size_t)N * sizeof(float));
    memcpy(out_im + b * N, y, (size_t)N * sizeof(float));
  }
}
