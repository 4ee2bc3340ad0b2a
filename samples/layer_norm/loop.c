#include <math.h>

void loop(const float *X, const float *gamma, const float *beta, float eps, float *Y, long R, long C) {
  for (long r = 0; r < R; ++r) {
    const float *x = X + r * C;
    float mean = 0, squares = 0;
    for (long c = 0; c < C; ++c)
      mean += x[c];
    mean /= (float)C;
    for (long c = 0; c < C; ++c)
      squares += (x[c] - mean) * (x[c] - mean);
    const float scale = 1 / sqrtf(squares / (float)C + eps);
    for (long c = 0; c < C; ++c)
      Y[r * C + c] = (x[c] - mean) * scale * gamma[c] + beta[c];
  }
}
