/* Uses every struct of 0.1.0's tessera.h that a program fills or reads. Each is in memory that ends in a
 * pattern, so that a library which takes the struct for its own larger one is found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #condition, tsrLastError());             \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

enum { kGuard = 256 };
static const unsigned char kPattern = 0xa5;

/* A struct of `size` bytes, all 0 but its size, with the guard after it. */
static void *make(size_t size) {
  unsigned char *out = malloc(size + kGuard);
  CHECK(out);
  memset(out, 0, size);
  memset(out + size, kPattern, kGuard);
  memcpy(out, &size, sizeof size);
  return out;
}

static void drop(void *made, size_t size) {
  const unsigned char *guard = (const unsigned char *)made + size;
  size_t i, kept;
  memcpy(&kept, made, sizeof kept);
  CHECK(kept == size);
  for (i = 0; i < kGuard; ++i)
    CHECK(guard[i] == kPattern);
  free(made);
}

static const char kSource[] =
    "import tessera as ts\n"
    "@ts.kernel\n"
    "def saxpy(x: ts.Tensor[\"n\", ts.f32], y: ts.Tensor[\"n\", ts.f32], alpha: ts.f32):\n"
    "    i = ts.tile.linear_id()\n"
    "    if i < n:\n"
    "        y[i] = alpha * x[i] + y[i]\n";

static void onMessage(void *user, tsr_log_level_t level, const char *code, const char *text) {
  (void)level, (void)code, (void)text;
  ++*(int *)user;
}

static void devices(tsr_context_t context) {
  tsr_backend_info_t *backend = make(sizeof *backend);
  tsr_device_info_t *device = make(sizeof *device);
  tsr_memory_info_t *memory = make(sizeof *memory);
  const char *json = NULL;
  CHECK(tsrGetBackendInfo(0, backend) == TSR_SUCCESS && backend->name);
  CHECK(tsrGetDeviceInfo(context, device) == TSR_SUCCESS && strcmp(device->backend, "cpu") == 0);
  CHECK(tsrGetMemoryInfo(context, memory) == TSR_SUCCESS && memory->total_bytes > 0);
  CHECK(tsrGetDeviceCapabilities(context, &json) == TSR_SUCCESS && json[0] == '{');
  drop(backend, sizeof *backend);
  drop(device, sizeof *device);
  drop(memory, sizeof *memory);
}

static tsr_module_t compileSaxpy(tsr_context_t context) {
  tsr_source_options_t *options = make(sizeof *options);
  tsr_module_t module = NULL;
  int messages = 0;
  options->file_name = "old.py";
  options->log = onMessage;
  options->log_user = &messages;
  CHECK(tsrLoadModuleFromSource(context, "def", 3, options, &module) == TSR_ECOMPILE && messages > 0);
  CHECK(tsrLoadModuleFromSource(context, kSource, sizeof kSource - 1, options, &module) == TSR_SUCCESS);
  drop(options, sizeof *options);
  return module;
}

static void launches(tsr_context_t context) {
  enum { n = 1000 };
  static float host[n];
  tsr_arg_info_t *arg = make(sizeof *arg);
  tsr_launch_ex_t *launch = make(sizeof *launch);
  tsr_graph_info_t *info = make(sizeof *info);
  tsr_module_t module = compileSaxpy(context);
  tsr_kernel_t kernel = NULL;
  tsr_stream_t stream = NULL;
  tsr_graph_t graph = NULL;
  void *x = NULL, *y = NULL, *args[4];
  const tsr_launch_t fromMetadata = {0, 0, 0, 0, 0, 0, 0};
  float alpha = 2;
  int64_t dim = n;
  int i;
  CHECK(tsrGetKernel(module, NULL, &kernel) == TSR_SUCCESS);
  CHECK(tsrKernelArgInfo(kernel, 3, arg) == TSR_SUCCESS && arg->kind == TSR_ARG_DIM && arg->bytes == 8);
  CHECK(tsrCreateStream(context, &stream) == TSR_SUCCESS);
  CHECK(tsrAlloc(context, sizeof host, TSR_MEM_DEVICE, &x) == TSR_SUCCESS);
  CHECK(tsrAlloc(context, sizeof host, TSR_MEM_DEVICE, &y) == TSR_SUCCESS);
  for (i = 0; i < n; ++i)
    host[i] = (float)i;
  CHECK(tsrMemcpyH2D(context, x, host, sizeof host) == TSR_SUCCESS);
  CHECK(tsrMemset(context, y, 0, sizeof host) == TSR_SUCCESS);
  args[0] = &x, args[1] = &y, args[2] = &alpha, args[3] = &dim;
  CHECK(tsrLaunch(kernel, stream, fromMetadata, args, 4) == TSR_SUCCESS);
  launch->args = args;
  launch->nargs = 4;
  launch->label = "old";
  CHECK(tsrLaunchEx(kernel, stream, launch) == TSR_SUCCESS);
  CHECK(tsrStreamBeginCapture(stream) == TSR_SUCCESS);
  CHECK(tsrLaunchEx(kernel, stream, launch) == TSR_SUCCESS);
  CHECK(tsrStreamEndCapture(stream, &graph) == TSR_SUCCESS);
  CHECK(tsrGraphInfo(graph, info) == TSR_SUCCESS && info->launches == 1);
  CHECK(tsrGraphLaunch(graph, stream) == TSR_SUCCESS);
  CHECK(tsrStreamSynchronize(stream) == TSR_SUCCESS);
  CHECK(tsrMemcpyD2H(context, host, y, sizeof host) == TSR_SUCCESS);
  for (i = 0; i < n; ++i)
    CHECK(host[i] == 6 * (float)i);
  CHECK(tsrDestroyGraph(graph) == TSR_SUCCESS);
  CHECK(tsrDestroyStream(stream) == TSR_SUCCESS);
  CHECK(tsrUnloadModule(module) == TSR_SUCCESS);
  drop(arg, sizeof *arg);
  drop(launch, sizeof *launch);
  drop(info, sizeof *info);
}

static void collectives(void) {
  tsr_comm_options_t *options = make(sizeof *options);
  tsr_comm_info_t *info = make(sizeof *info);
  tsr_collective_call_t *call = make(sizeof *call);
  tsr_comm_t comm = NULL;
  float in = 3, out = 0;
  options->id = "old";
  options->size = 1;
  CHECK(tsrCreateComm(options, &comm) == TSR_SUCCESS);
  CHECK(tsrCommInfo(comm, info) == TSR_SUCCESS && info->size == 1);
  call->kind = TSR_ALL_REDUCE;
  call->dtype = TSR_DTYPE_F32;
  call->op = TSR_REDUCE_SUM;
  call->count = 1;
  call->src = &in;
  call->dst = &out;
  CHECK(tsrCollective(comm, call) == TSR_SUCCESS && out == 3);
  CHECK(tsrDestroyComm(comm) == TSR_SUCCESS);
  drop(options, sizeof *options);
  drop(info, sizeof *info);
  drop(call, sizeof *call);
}

int main(void) {
  tsr_context_options_t *options = make(sizeof *options);
  tsr_context_t context = NULL;
  uint32_t major = 0, minor = 0;
  CHECK(TSR_ABI_MAJOR == 1 && TSR_ABI_MINOR == 3); /* the kept header, not the one of this tree */
  tsrAbiVersion(&major, &minor);
  CHECK(major == 1 && minor >= 3);
  options->backend = "cpu";
  CHECK(tsrCreateContextEx(options, &context) == TSR_SUCCESS);
  devices(context);
  launches(context);
  collectives();
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  drop(options, sizeof *options);
  return 0;
}
