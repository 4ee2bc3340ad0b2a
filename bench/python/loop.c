/* The same launches as bench/python/overhead.py makes, from C: what a call costs without Python. */
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>
#include <time.h>

enum { MOST = 16, N = 16 };

typedef struct {
  tsr_context_t context;
  tsr_module_t module;
  tsr_kernel_t kernel;
  tsr_stream_t stream;
  float memory[MOST][N];
  void *pointers[MOST];
  void *args[MOST + 1];
  int64_t n;
  size_t count;
} loop_t;

/* Compiles the kernel "k" of a source: `tensors` arrays of f32["n"], no scalars. Returns NULL on failure;
 * tsrLastError says why. */
void *loop_create(const char *source, int tensors) {
  loop_t *loop = calloc(1, sizeof *loop);
  if (!loop || tensors > MOST) return NULL;
  for (int i = 0; i < tensors; ++i) {
    loop->pointers[i] = loop->memory[i];
    loop->args[i] = &loop->pointers[i];
  }
  loop->n = N;
  loop->args[tensors] = &loop->n;
  loop->count = (size_t)tensors + 1;
  if (tsrCreateContext(&loop->context) || tsrGetDefaultStream(loop->context, &loop->stream) ||
      tsrLoadModuleFromSource(loop->context, source, strlen(source), NULL, &loop->module) ||
      tsrGetKernel(loop->module, "k", &loop->kernel))
    return NULL;
  return loop;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The nanoseconds of each of `calls` calls; `waits`: each waits for its end, as calls with arrays of the host
 * do. Returns the status. */
int loop_run(void *handle, int waits, int calls, uint64_t *nanoseconds) {
  loop_t *loop = handle;
  const tsr_launch_t from_metadata = {0};
  for (int i = 0; i < calls; ++i) {
    const uint64_t start = now();
    tsr_status_t status = tsrLaunch(loop->kernel, loop->stream, from_metadata, loop->args, loop->count);
    if (!status && waits) status = tsrStreamSynchronize(loop->stream);
    nanoseconds[i] = now() - start;
    if (status) return (int)status;
  }
  return (int)tsrStreamSynchronize(loop->stream);
}
