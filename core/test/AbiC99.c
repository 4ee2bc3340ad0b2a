/* The header is C99 and the library answers a C program. */
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #condition, tsrLastError());             \
      return 1;                                                                                              \
    }                                                                                                        \
  } while (0)

int main(void) {
  tsr_context_t context = NULL;
  void *p = NULL;
  float in[16], out[16];
  uint32_t major = 0, minor = 0;
  int i;
  tsrAbiVersion(&major, &minor);
  CHECK(major == TSR_ABI_MAJOR && minor >= TSR_ABI_MINOR);
  CHECK(strcmp(tsrStatusName(TSR_EINVAL), "TSR_EINVAL") == 0);
  CHECK(TSR_SUCCESS == 0 && TSR_EOOM == 1 && TSR_EINVAL == 2 && TSR_ETIMEOUT == 3);
  CHECK(sizeof(tsr_launch_t) == 28);
  CHECK(tsrCreateContext(&context) == TSR_SUCCESS);
  CHECK(tsrAlloc(context, sizeof in, TSR_MEM_DEVICE, &p) == TSR_SUCCESS);
  for (i = 0; i < 16; ++i)
    in[i] = (float)i;
  CHECK(tsrMemcpyH2D(context, p, in, sizeof in) == TSR_SUCCESS);
  CHECK(tsrMemcpyD2H(context, out, p, sizeof out) == TSR_SUCCESS);
  CHECK(memcmp(in, out, sizeof in) == 0);
  {
    tsr_stream_t stream = NULL;
    tsr_graph_t graph = NULL;
    tsr_graph_info_t info = {0};
    info.struct_size = sizeof info;
    CHECK(tsrCreateStream(context, &stream) == TSR_SUCCESS);
    CHECK(tsrStreamBeginCapture(stream) == TSR_SUCCESS);
    CHECK(tsrMemsetAsync(context, p, 0, sizeof in, stream) == TSR_SUCCESS);
    CHECK(tsrMemcpyD2HAsync(context, out, p, sizeof out, stream) == TSR_SUCCESS);
    CHECK(tsrStreamEndCapture(stream, &graph) == TSR_SUCCESS);
    CHECK(tsrGraphInfo(graph, &info) == TSR_SUCCESS && info.nodes == 2 && info.fills == 1);
    CHECK(out[15] == 15);
    CHECK(tsrGraphLaunch(graph, stream) == TSR_SUCCESS);
    CHECK(tsrDestroyGraph(graph) == TSR_SUCCESS);
    CHECK(tsrDestroyStream(stream) == TSR_SUCCESS);
    CHECK(out[15] == 0);
  }
  CHECK(tsrFree(context, p) == TSR_SUCCESS);
  CHECK(tsrFree(context, p) == TSR_EINVAL);
  {
    tsr_module_t module = NULL;
    CHECK(tsrLoadModule(context, "\177ELF", 4, &module) == TSR_EINVAL);
    CHECK(tsrKernelArgInfo(NULL, 0, NULL) == TSR_EINVAL);
  }
  {
    tsr_comm_t comm = NULL;
    tsr_comm_options_t options = {0};
    tsr_comm_info_t info = {0};
    options.struct_size = sizeof options;
    options.id = "c99";
    options.size = 1;
    info.struct_size = sizeof info;
    CHECK(tsrCreateComm(&options, &comm) == TSR_SUCCESS);
    CHECK(tsrCommInfo(comm, &info) == TSR_SUCCESS && info.size == 1 && info.rank == 0);
    CHECK(strcmp(info.implementation, "inprocess") == 0 && strcmp(info.topology, "process") == 0);
    CHECK(tsrAllReduce(comm, in, out, 16, TSR_DTYPE_F32, TSR_REDUCE_SUM) == TSR_SUCCESS && out[3] == 3);
    CHECK(tsrDestroyComm(comm) == TSR_SUCCESS);
    CHECK(tsrDestroyComm(comm) == TSR_EINVAL);
  }
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  CHECK(tsrDestroyContext(context) == TSR_EINVAL);
  return 0;
}
