/* saxpy from C without a compiler: load a bundle that was compiled earlier, run it, check the answer. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime, which -std=c99 hides */
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>
#include <time.h>

/* Ends the program with the library's text when a call fails. */
static void check(tsr_status_t status, const char *what) {
  if (status == TSR_SUCCESS) return;
  fprintf(stderr, "%s: %s: %s\n", what, tsrStatusName(status), tsrLastError());
  exit(1);
}
#define CHECK(call) check((call), #call)

int main(int argc, char **argv) {
  enum { N = 1000 };
  static float x[N], y[N];
  float alpha = 2.5f;
  int64_t n = N;
  tsr_context_t context;
  tsr_module_t module;
  tsr_kernel_t kernel;
  tsr_launch_t from_metadata = {0};
  struct timespec begin, end;
  void *device_x, *device_y;
  void *args[4];
  int i;

  if (argc != 2) {
    fprintf(stderr, "usage: %s saxpy.tsrb\n", argv[0]);
    return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (i = 0; i < N; ++i) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }

  CHECK(tsrCreateContext(&context));
  CHECK(tsrLoadModuleFromFile(context, argv[1], NULL, &module)); /* the best image for this processor */
  CHECK(tsrGetKernel(module, "saxpy", &kernel));

  CHECK(tsrAlloc(context, sizeof x, TSR_MEM_DEVICE, &device_x));
  CHECK(tsrAlloc(context, sizeof y, TSR_MEM_DEVICE, &device_y));
  CHECK(tsrMemcpyH2D(context, device_x, x, sizeof x));
  CHECK(tsrMemcpyH2D(context, device_y, y, sizeof y));
  args[0] = &device_x;
  args[1] = &device_y;
  args[2] = &alpha;
  args[3] = &n;
  CHECK(tsrLaunch(kernel, NULL, from_metadata, args, 4));
  CHECK(tsrMemcpyD2H(context, y, device_y, sizeof y));
  clock_gettime(CLOCK_MONOTONIC, &end);
  CHECK(tsrDestroyContext(context));

  for (i = 0; i < N; ++i) {
    if (y[i] != alpha * (float)i + 1.0f) {
      fprintf(stderr, "y[%d] is %g\n", i, y[i]);
      return 1;
    }
  }
  printf("saxpy: %d elements right, %.2f ms from main to the result\n", N,
         (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
  return 0;
}
