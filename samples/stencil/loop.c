#include <stdlib.h>
#include <string.h>

void loop(float *U, float k, long H, long W) {
  float *V = malloc((size_t)(H * W) * sizeof(float));
  for (int step = 0; step < 8; ++step) {
    const float *from = step % 2 ? V : U;
    float *to = step % 2 ? U : V;
    memcpy(to, from, (size_t)(H * W) * sizeof(float));
    for (long r = 1; r < H - 1; ++r)
      for (long c = 1; c < W - 1; ++c) {
        const float *at = from + r * W + c;
        to[r * W + c] = at[0] + k * (at[-W] + at[W] + at[-1] + at[1] - 4 * at[0]);
      }
  }
  free(V);
}
