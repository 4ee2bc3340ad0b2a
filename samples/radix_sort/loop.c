#include <stdlib.h>

void loop(unsigned *keys, long n) {
  unsigned *from = keys, *to = malloc((size_t)n * sizeof *to), *spare = to;
  for (int shift = 0; shift < 32; shift += 8) {
    long starts[257] = {0};
    const unsigned flip = shift == 24 ? 128 : 0;
    for (long i = 0; i < n; ++i)
      ++starts[((from[i] >> shift & 255) ^ flip) + 1];
    for (int d = 0; d < 256; ++d)
      starts[d + 1] += starts[d];
    for (long i = 0; i < n; ++i)
      to[starts[(from[i] >> shift & 255) ^ flip]++] = from[i];
    unsigned *t = from;
    from = to;
    to = t;
  }
  free(spare);
}
