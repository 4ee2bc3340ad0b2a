#include <math.h>

void loop(const float *x, const float *y, const float *z, const float *mass, float *ax, float *ay, float *az,
          long n) {
  for (long i = 0; i < n; ++i) {
    float fx = 0, fy = 0, fz = 0;
    for (long j = 0; j < n; ++j) {
      const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      const float pull = mass[j] * inverse * inverse * inverse;
      fx += pull * dx;
      fy += pull * dy;
      fz += pull * dz;
    }
    ax[i] = fx;
    ay[i] = fy;
    az[i] = fz;
  }
}
