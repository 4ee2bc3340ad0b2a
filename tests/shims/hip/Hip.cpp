// libamdhip64.so.6 without a GPU: the functions of HIP that Tessera uses, declared after HIP's reference and
// not after the plugin's header, on the machine of tests/shims/common.
#include "tests/shims/common/CudaLike.h"
#include "tests/shims/hip/Hsaco.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tessera::shim {
namespace {

/// From AMD's documents, not from the table of the plugin under test.
GpuArchitecture deviceRow() {
  const std::string &arch = Machine::get().options.arch;
  GpuArchitecture row{};
  row.name = "gfx90a", row.threads = 256, row.warpSize = 64, row.staticShared = 64 << 10,
  row.maxShared = 64 << 10;
  row.floatAtomicAdd = true;
  if (arch == "gfx942") row.name = "gfx942";
  if (arch == "gfx1030") row.name = "gfx1030", row.warpSize = 32;
  if (arch == "gfx1100") row.name = "gfx1100", row.warpSize = 32;
  return row;
}
/// As ROCm reports it: CDNA has settings of memory that code may depend on.
std::string fullName() {
  const std::string name(deviceRow().name);
  return name.starts_with("gfx9") ? name + ":sramecc+:xnack-" : name;
}

/// One for each device, for the lifetime of the process.
Context &contextOf(int device) {
  static auto &all = *new std::array<Context, 16>;
  Context &out = all[static_cast<size_t>(device)];
  out.device = device;
  machine().lasting.insert(&out);
  return out;
}
thread_local int current = 0;

bool isDevice(int device) { return device >= 0 && device < machine().options.devices; }

} // namespace

const uint64_t kDynamicShared = 64 << 10;
Context *currentContext(const char *) { return &contextOf(current); }

} // namespace tessera::shim

using namespace tessera::shim;

// ---- Devices ----

EXPORT hipInit(unsigned) {
  std::lock_guard lock(machine().mutex);
  isInitialized = true;
  return machine().options.devices ? 0 : kNoDevice;
}
EXPORT hipRuntimeGetVersion(int *out) {
  const int asked = machine().options.driver;
  return *out = asked ? asked : 60'342'134, 0; // 6.3
}
extern "C" __attribute__((visibility("default"))) const char *hipGetErrorName(int error) {
  static const std::map<int, const char *> names = {
      {kInvalidValue, "hipErrorInvalidValue"}, {kOutOfMemory, "hipErrorOutOfMemory"},
      {kNoDevice, "hipErrorNoDevice"},         {kNoBinary, "hipErrorNoBinaryForGpu"},
      {kInvalidImage, "hipErrorInvalidImage"}, {kInvalidHandle, "hipErrorInvalidHandle"},
      {kNotFound, "hipErrorNotFound"},         {kLaunchFailed, "hipErrorLaunchFailure"}};
  const auto found = names.find(error);
  return found == names.end() ? "hipErrorUnknown" : found->second;
}
extern "C" __attribute__((visibility("default"))) const char *hipGetErrorString(int error) {
  return error == kNoDevice       ? "no ROCm-capable device is detected"
         : error == kOutOfMemory  ? "out of memory"
         : error == kLaunchFailed ? "unspecified launch failure"
                                  : "an error of the shim";
}
EXPORT hipGetDeviceCount(int *out) {
  Call call("hipGetDeviceCount", false);
  return *out = machine().options.devices, 0;
}
EXPORT hipDeviceGetName(char *out, int size, int device) {
  Call call("hipDeviceGetName", false);
  if (!isDevice(device)) return kInvalidDevice;
  if (device == machine().options.broken) return kUnknown;
  return std::snprintf(out, static_cast<size_t>(size), "Shim %s #%d", deviceRow().name.data(), device), 0;
}
EXPORT hipDeviceTotalMem(size_t *out, int) { return *out = kDeviceBytes, 0; }
EXPORT hipDeviceGetAttribute(int *out, int which, int) {
  Call call("hipDeviceGetAttribute", false);
  const std::map<int, int> values = {{56, 1024},  {29, INT32_MAX},
                                     {30, 65535}, {31, 65535},
                                     {63, 104},   {74, static_cast<int>(deviceRow().maxShared)}};
  const auto found = values.find(which);
  return found == values.end() ? kInvalidValue : (*out = found->second, 0);
}
EXPORT hipDeviceGetPCIBusId(char *out, int size, int device) {
  return std::snprintf(out, static_cast<size_t>(size), "0000:%02x:00.0", 0xc1 + device), 0;
}
/// hipDeviceProp_tR0600 has the name of the architecture at byte 1160.
EXPORT hipGetDevicePropertiesR0600(char *out, int device) {
  Call call("hipGetDeviceProperties", false);
  if (!isDevice(device)) return kInvalidDevice;
  std::memset(out, 0, 1472); // its size
  return std::snprintf(out + 1160, 256, "%s", fullName().c_str()), 0;
}
EXPORT hipDeviceCanAccessPeer(int *out, int a, int b) { return *out = a != b, 0; }
EXPORT hipGetDevice(int *out) { return *out = current, 0; }
EXPORT hipSetDevice(int device) {
  Call call("hipSetDevice", false);
  if (!isDevice(device)) return kInvalidDevice;
  return current = device, 0;
}
EXPORT hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  BEGIN("hipDeviceEnablePeerAccess");
  if (!isDevice(peer) || flags) return kInvalidDevice;
  Context *other = &contextOf(peer);
  if (std::ranges::find(call.context->peers, other) != call.context->peers.end()) return kPeerAlreadyEnabled;
  return call.context->peers.push_back(other), 0;
}

// ---- Memory ----

EXPORT hipMemGetInfo(size_t *free, size_t *total) {
  BEGIN("hipMemGetInfo");
  return memoryInfo(call, free, total);
}
EXPORT hipMalloc(void **out, size_t bytes) {
  BEGIN("hipMalloc");
  return allocate(call, bytes, out);
}
EXPORT hipFree(void *p) {
  Call call("hipFree");
  return release(call, p, false);
}
EXPORT hipHostMalloc(void **out, size_t bytes, unsigned) {
  BEGIN("hipHostMalloc");
  return allocateHost(call, bytes, out);
}
EXPORT hipHostFree(void *p) {
  Call call("hipHostFree");
  return release(call, p, true);
}
EXPORT hipMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream) {
  BEGIN("hipMemcpyAsync");
  return kind == 4 ? copy(call, dst, src, bytes, stream) : kInvalidValue; // hipMemcpyDefault
}
EXPORT hipMemsetAsync(void *dst, int byte, size_t bytes, void *stream) {
  BEGIN("hipMemsetAsync");
  return fill(call, dst, static_cast<unsigned char>(byte), bytes, stream);
}

// ---- Streams and events ----

EXPORT hipStreamCreateWithFlags(void **out, unsigned flags) {
  BEGIN("hipStreamCreateWithFlags");
  return createStream(call, out, flags);
}
EXPORT hipStreamDestroy(void *stream) {
  Call call("hipStreamDestroy");
  return destroyStream(call, stream);
}
EXPORT hipStreamQuery(void *stream) {
  BEGIN("hipStreamQuery");
  return queryStream(call, stream);
}
EXPORT hipStreamSynchronize(void *stream) {
  BEGIN("hipStreamSynchronize");
  return synchronizeStream(call, stream);
}
EXPORT hipStreamIsCapturing(void *stream, int *out) {
  BEGIN("hipStreamIsCapturing");
  const auto found = call.stream(stream);
  return found ? (*out = found->isRecording, 0) : kInvalidHandle;
}
EXPORT hipStreamWaitEvent(void *stream, void *event, unsigned) {
  BEGIN("hipStreamWaitEvent");
  return waitEvent(call, stream, event);
}
EXPORT hipEventCreateWithFlags(void **out, unsigned) {
  BEGIN("hipEventCreateWithFlags");
  return createEvent(call, out);
}
EXPORT hipEventDestroy(void *event) {
  Call call("hipEventDestroy");
  return destroyEvent(call, event);
}
EXPORT hipEventRecord(void *event, void *stream) {
  BEGIN("hipEventRecord");
  return recordEvent(call, event, stream);
}
EXPORT hipEventQuery(void *event) {
  BEGIN("hipEventQuery");
  return queryEvent(call, event);
}
EXPORT hipEventSynchronize(void *event) {
  BEGIN("hipEventSynchronize");
  return synchronizeEvent(call, event);
}
EXPORT hipEventElapsedTime(float *out, void *begin, void *end) {
  BEGIN("hipEventElapsedTime");
  return elapsedTime(call, out, begin, end);
}

// ---- Code ----

EXPORT hipModuleLoadData(void **out, const void *image) {
  BEGIN("hipModuleLoadData");
  if (!machine().options.jit) return kInvalidImage;
  HsacoModule code;
  std::string why;
  if (!readHsaco(static_cast<const char *>(image), code, why)) {
    std::fprintf(stderr, "hipModuleLoadData: %s\n", why.c_str());
    return kInvalidImage;
  }
  if (code.processor != deviceRow().name) return kNoBinary;
  auto module = std::make_shared<Module>();
  module->context = call.context, module->kernels = std::move(code.kernels);
  if (!loadCode(*module, {"rocm", deviceRow()}, {static_cast<const char *>(image), code.bytes}, why)) {
    std::fprintf(stderr, "hipModuleLoadData: %s\n", why.c_str());
    return kInvalidImage;
  }
  return *out = modules.add(std::move(module)), 0;
}
EXPORT hipModuleUnload(void *module) {
  Call call("hipModuleUnload");
  return unloadModule(call, module);
}
EXPORT hipModuleGetFunction(void **out, void *module, const char *name) {
  BEGIN("hipModuleGetFunction");
  return getFunction(call, out, module, name);
}
EXPORT hipFuncGetAttribute(int *out, int which, void *function) {
  BEGIN("hipFuncGetAttribute");
  return functionAttribute(call, out, which, function);
}
EXPORT hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *function, int, size_t) {
  BEGIN("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  return residentBlocks(call, out, function);
}
EXPORT hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                             unsigned blockY, unsigned blockZ, unsigned shared, void *stream, void **separate,
                             void **extra) {
  BEGIN("hipModuleLaunchKernel");
  return launch(call, function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, {1, 1, 1}, shared, stream,
                separate, extra, reinterpret_cast<void *>(3));
}

// ---- Graphs ----

EXPORT hipStreamBeginCapture(void *stream, int) {
  BEGIN("hipStreamBeginCapture");
  return beginCapture(call, stream);
}
EXPORT hipStreamEndCapture(void *stream, void **out) {
  BEGIN("hipStreamEndCapture");
  return endCapture(call, stream, out);
}
EXPORT hipGraphInstantiateWithFlags(void **out, void *graph, unsigned long long) {
  BEGIN("hipGraphInstantiateWithFlags");
  return instantiate(call, out, graph);
}
EXPORT hipGraphLaunch(void *graph, void *stream) {
  BEGIN("hipGraphLaunch");
  return launchGraph(call, graph, stream);
}
EXPORT hipGraphExecDestroy(void *graph) {
  Call call("hipGraphExecDestroy");
  return destroyExecutable(call, graph);
}
EXPORT hipGraphDestroy(void *graph) {
  Call call("hipGraphDestroy");
  return destroyGraph(call, graph);
}
