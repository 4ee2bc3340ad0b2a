/* saxpy from C: read a tile program, compile it, run it on the device, check the answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

/* Ends the program with the library's text when a call fails. */
static void check(tsr_status_t status, const char *what) {
  if (status == TSR_SUCCESS) return;
  fprintf(stderr, "%s: %s: %s\n", what, tsrStatusName(status), tsrLastError());
  exit(1);
}
#define CHECK(call) check((call), #call)

/* Prints the diagnostics of the compiler, with source line and caret, and the warnings of the library. */
static void print_message(void *user, tsr_log_level_t level, const char *code, const char *text) {
  (void)user;
  (void)level;
  (void)code;
  /* Diagnostics end with a newline, notes do not. */
  fprintf(stderr, "%s%s", text, text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  long length = -1;
  if (file && fseek(file, 0, SEEK_END) == 0) length = ftell(file);
  if (length >= 0 && fseek(file, 0, SEEK_SET) == 0) text = malloc((size_t)length + 1);
  if (!text || fread(text, 1, (size_t)length, file) != (size_t)length) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  *size = (size_t)length;
  return text;
}

int main(int argc, char **argv) {
  enum { N = 1000 };
  static float x[N], y[N];
  float alpha = 2.5f;
  int64_t n = N;
  size_t size;
  char *source;
  tsr_context_t context;
  tsr_module_t module;
  tsr_kernel_t kernel;
  tsr_source_options_t options = {0};
  tsr_launch_t from_metadata = {0};
  void *device_x, *device_y;
  void *args[4];
  int i;

  if (argc != 2) {
    fprintf(stderr, "usage: %s saxpy/saxpy.py\n", argv[0]);
    return 1;
  }
  source = read_file(argv[1], &size);
  for (i = 0; i < N; ++i) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }

  CHECK(tsrSetLogCallback(print_message, NULL, TSR_LOG_WARNING));
  CHECK(tsrCreateContext(&context));
  options.struct_size = sizeof options;
  options.file_name = argv[1];
  options.log = print_message;
  CHECK(tsrLoadModuleFromSource(context, source, size, &options, &module));
  CHECK(tsrGetKernel(module, "saxpy", &kernel));

  CHECK(tsrAlloc(context, sizeof x, TSR_MEM_DEVICE, &device_x));
  CHECK(tsrAlloc(context, sizeof y, TSR_MEM_DEVICE, &device_y));
  CHECK(tsrMemcpyH2D(context, device_x, x, sizeof x));
  CHECK(tsrMemcpyH2D(context, device_y, y, sizeof y));

  /* Pointers in parameter order, then scalars, then the symbolic dims. */
  args[0] = &device_x;
  args[1] = &device_y;
  args[2] = &alpha;
  args[3] = &n;
  CHECK(tsrLaunch(kernel, NULL, from_metadata, args, 4)); /* asynchronous, on the default stream */
  CHECK(tsrMemcpyD2H(context, y, device_y, sizeof y));    /* queued after it; waits */
  CHECK(tsrDestroyContext(context));                      /* destroys everything made from it too */
  free(source);

  for (i = 0; i < N; ++i) {
    if (y[i] != alpha * (float)i + 1.0f) {
      fprintf(stderr, "y[%d] is %g\n", i, y[i]);
      return 1;
    }
  }
  printf("saxpy: %d elements right, y[%d] = %g\n", N, N - 1, y[N - 1]);
  return 0;
}
