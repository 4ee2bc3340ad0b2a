/* A host that loads libtessera.so as a plugin and closes it with work on the way: the code stays mapped. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>

/* C has no cast from dlsym's pointer to a function's. */
#define LOAD(f) memcpy(&f##_, &(void *){dlsym(library, #f)}, sizeof(void *))

int main(int argc, char **argv) {
  tsr_status_t (*tsrCreateContext_)(tsr_context_t *);
  tsr_status_t (*tsrAlloc_)(tsr_context_t, size_t, uint32_t, void **);
  tsr_status_t (*tsrMemsetAsync_)(tsr_context_t, void *, int, size_t, tsr_stream_t);
  tsr_context_t context = NULL;
  void *p = NULL, *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "cannot load the library: %s\n", dlerror());
    return 1;
  }
  LOAD(tsrCreateContext);
  LOAD(tsrAlloc);
  LOAD(tsrMemsetAsync);
  if (tsrCreateContext_(&context) || tsrAlloc_(context, 1 << 24, TSR_MEM_DEVICE, &p) ||
      tsrMemsetAsync_(context, p, 1, 1 << 24, NULL))
    return 2;
  dlclose(library);
  if (!dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
    fprintf(stderr, "dlclose unmapped the library under its threads\n");
    return 3;
  }
  return 0;
}
