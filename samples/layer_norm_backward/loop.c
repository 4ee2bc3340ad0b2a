#include <string.h>

void loop(const float *dY, const float *X, const float *gamma, const float *mean, const float *rstd,
          float *dX, float *dgamma, float *dbeta, long R, long C) {
  memset(dgamma, 0, (size_t)C * sizeof(float));
  memset(dbeta, 0, (size_t)C * sizeof(float));
  for (long r = 0; r < R; ++r) {
    const float *dy = dY + r * C, *x = X + r * C;
    float along = 0, total = 0;
    for (long c = 0; c < C; ++c) {
      const float hat = (x[c] - mean[r]) * rstd[r], g = dy[c] * gamma[c];
      along += g * hat;
      total += g;
      dgamma[c] += dy[c] * hat;
      dbeta[c] += dy[c];
    }
    for (long c = 0; c < C; ++c) {
      const float hat = (x[c] - mean[r]) * rstd[r];
      dX[r * C + c] = (dy[c] * gamma[c] - (total + hat * along) / (float)C) * rstd[r];
    }
  }
}
