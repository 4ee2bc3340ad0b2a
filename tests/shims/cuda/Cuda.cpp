// libcuda.so.1 without a GPU: the functions of CUDA's driver API that Tessera uses, declared after the API's
// reference and not after the plugin's header, on the machine of tests/shims/common.
#include "tests/shims/common/CudaLike.h"
#include "tests/shims/cuda/Ptx.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

namespace tessera::shim {
namespace {

/// From NVIDIA's documents, not from the table of the plugin under test.
GpuArchitecture deviceRow() {
  const std::string &arch = Machine::get().options.arch;
  GpuArchitecture row{};
  row.name = "sm_80", row.threads = 256, row.warpSize = 32, row.staticShared = 48 << 10,
  row.maxShared = 163 << 10;
  row.floatAtomicAdd = true;
  if (arch.starts_with("sm_90"))
    row.name = "sm_90", row.maxShared = 227 << 10, row.mostInCluster = 8, row.registers = 64 << 10;
  if (arch == "sm_86") row.name = "sm_86", row.maxShared = 99 << 10;
  if (arch == "sm_75") row.name = "sm_75", row.maxShared = 64 << 10;
  return row;
}
int driverVersion() {
  const int asked = Machine::get().options.driver;
  return asked ? asked : 12040;
}
int ptxVersion() { return 80 + (driverVersion() - 12000) / 10; }
int capability() { return std::atoi(deviceRow().name.data() + 3); }

Handles<Context> contexts{"context", 0x41};
std::array<std::pair<void *, std::shared_ptr<Context>>, 16> primary;
thread_local std::vector<std::shared_ptr<Context>> current;

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

} // namespace

const uint64_t kDynamicShared = 48 << 10; // more by cuFuncSetAttribute
Context *currentContext(const char *call) {
  if (!current.empty()) return current.back().get();
  machine().breach("no-context", std::string(call) + " without a current context");
  return nullptr;
}

} // namespace tessera::shim

using namespace tessera::shim;

// ---- Devices and contexts ----

EXPORT cuInit(unsigned) {
  std::lock_guard lock(machine().mutex);
  isInitialized = true;
  return machine().options.devices ? 0 : kNoDevice;
}
EXPORT cuDriverGetVersion(int *out) { return *out = driverVersion(), 0; }
EXPORT cuGetErrorName(int error, const char **out) {
  static const std::map<int, const char *> names = {{0, "CUDA_SUCCESS"},
                                                    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
                                                    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                    {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                    {kInvalidCode, "CUDA_ERROR_INVALID_PTX"},
                                                    {kUnsupportedPtx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                                    {kNotFound, "CUDA_ERROR_NOT_FOUND"},
                                                    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"}};
  const auto found = names.find(error);
  return *out = found == names.end() ? nullptr : found->second, *out ? 0 : kInvalidValue;
}
EXPORT cuGetErrorString(int error, const char **out) {
  *out = error == kNoDevice       ? "no CUDA-capable device is detected"
         : error == kOutOfMemory  ? "out of memory"
         : error == kLaunchFailed ? "unspecified launch failure"
                                  : "an error of the shim";
  return 0;
}
EXPORT cuDeviceGetCount(int *out) {
  Call call("cuDeviceGetCount", false);
  return *out = machine().options.devices, 0;
}
EXPORT cuDeviceGet(int *out, int number) {
  Call call("cuDeviceGet", false);
  if (number < 0 || number >= machine().options.devices) return kInvalidDevice;
  return *out = number, 0;
}
EXPORT cuDeviceGetName(char *out, int size, int device) {
  Call call("cuDeviceGetName", false);
  if (device == machine().options.broken) return kUnknown;
  return std::snprintf(out, static_cast<size_t>(size), "Shim %s #%d", deviceRow().name.data(), device), 0;
}
EXPORT cuDeviceTotalMem_v2(size_t *out, int) { return *out = kDeviceBytes, 0; }
EXPORT cuDeviceGetAttribute(int *out, int which, int) {
  Call call("cuDeviceGetAttribute", false);
  const std::map<int, int> values = {{1, 1024},
                                     {5, INT32_MAX},
                                     {6, 65535},
                                     {7, 65535},
                                     {16, 4},
                                     {75, capability() / 10},
                                     {76, capability() % 10},
                                     {97, static_cast<int>(deviceRow().maxShared)},
                                     {120, capability() >= 90}};
  const auto found = values.find(which);
  return found == values.end() ? kInvalidValue : (*out = found->second, 0);
}
EXPORT cuDeviceGetPCIBusId(char *out, int size, int device) {
  return std::snprintf(out, static_cast<size_t>(size), "0000:%02x:00.0", 0x65 + device), 0;
}
EXPORT cuDeviceCanAccessPeer(int *out, int a, int b) { return *out = a != b, 0; }

EXPORT cuDevicePrimaryCtxRetain(void **out, int device) {
  Call call("cuDevicePrimaryCtxRetain", false);
  if (device == machine().options.broken) return kUnknown;
  if (const auto failed = machine().lost.find(device); failed != machine().lost.end())
    return failed->second; // the process must end (CUresult)
  auto &[handle, context] = primary[static_cast<size_t>(device)];
  if (!context) {
    context = std::make_shared<Context>();
    context->device = device;
    handle = contexts.add(context);
  }
  ++context->owners;
  return *out = handle, 0;
}
EXPORT cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease", false);
  auto &[handle, context] = primary[static_cast<size_t>(device)];
  if (!context || context->owners == 0)
    return machine().breach("double-release", "a primary context that nobody retains"), kInvalidContext;
  if (context->failure) machine().lost[device] = context->failure;
  if (--context->owners) return 0;
  if (const auto stream = std::exchange(context->defaultStream, nullptr)) {
    machine().synchronize(call.lock, {stream, stream->queued});
    machine().destroyStream(stream);
  }
  (void)contexts.remove(handle, "cuDevicePrimaryCtxRelease");
  static auto &ended = *new std::vector<std::shared_ptr<Context>>; // blocks and streams refer to them
  ended.push_back(std::move(context));
  return context = nullptr, 0;
}
EXPORT cuCtxPushCurrent_v2(void *handle) {
  Call call("cuCtxPushCurrent", false);
  auto context = contexts.find(handle, call.name);
  if (!context) return kInvalidContext;
  return current.push_back(std::move(context)), 0;
}
EXPORT cuCtxPopCurrent_v2(void **out) {
  Call call("cuCtxPopCurrent");
  if (!call.context) return kInvalidContext;
  current.pop_back();
  return *out = nullptr, 0;
}
EXPORT cuCtxEnablePeerAccess(void *peer, unsigned flags) {
  BEGIN("cuCtxEnablePeerAccess");
  auto other = contexts.find(peer, call.name);
  if (!other || flags) return kInvalidContext;
  if (std::ranges::find(call.context->peers, other.get()) != call.context->peers.end())
    return kPeerAlreadyEnabled;
  return call.context->peers.push_back(other.get()), 0;
}

// ---- Memory ----

EXPORT cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN("cuMemGetInfo");
  return memoryInfo(call, free, total);
}
EXPORT cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  BEGIN("cuMemAlloc");
  void *p = nullptr;
  const int result = allocate(call, bytes, &p);
  if (!result) *out = reinterpret_cast<uint64_t>(p);
  return result;
}
EXPORT cuMemFree_v2(uint64_t p) {
  Call call("cuMemFree");
  return release(call, pointer(p), false);
}
EXPORT cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  BEGIN("cuMemHostAlloc");
  return allocateHost(call, bytes, out);
}
EXPORT cuMemFreeHost(void *p) {
  Call call("cuMemFreeHost");
  return release(call, p, true);
}
EXPORT cuMemcpyAsync(uint64_t dst, uint64_t src, size_t bytes, void *stream) {
  BEGIN("cuMemcpyAsync");
  return copy(call, pointer(dst), pointer(src), bytes, stream);
}
EXPORT cuMemsetD8Async(uint64_t dst, unsigned char byte, size_t bytes, void *stream) {
  BEGIN("cuMemsetD8Async");
  return fill(call, pointer(dst), byte, bytes, stream);
}

// ---- Streams and events ----

EXPORT cuStreamCreate(void **out, unsigned flags) {
  BEGIN("cuStreamCreate");
  return createStream(call, out, flags);
}
EXPORT cuStreamDestroy_v2(void *stream) {
  Call call("cuStreamDestroy");
  return destroyStream(call, stream);
}
EXPORT cuStreamQuery(void *stream) {
  BEGIN("cuStreamQuery");
  return queryStream(call, stream);
}
EXPORT cuStreamSynchronize(void *stream) {
  BEGIN("cuStreamSynchronize");
  return synchronizeStream(call, stream);
}
EXPORT cuStreamIsCapturing(void *stream, int *out) {
  BEGIN("cuStreamIsCapturing");
  const auto found = call.stream(stream);
  return found ? (*out = found->isRecording, 0) : kInvalidHandle;
}
EXPORT cuStreamWaitEvent(void *stream, void *event, unsigned) {
  BEGIN("cuStreamWaitEvent");
  return waitEvent(call, stream, event);
}
EXPORT cuEventCreate(void **out, unsigned) {
  BEGIN("cuEventCreate");
  return createEvent(call, out);
}
EXPORT cuEventDestroy_v2(void *event) {
  Call call("cuEventDestroy");
  return destroyEvent(call, event);
}
EXPORT cuEventRecord(void *event, void *stream) {
  BEGIN("cuEventRecord");
  return recordEvent(call, event, stream);
}
EXPORT cuEventQuery(void *event) {
  BEGIN("cuEventQuery");
  return queryEvent(call, event);
}
EXPORT cuEventSynchronize(void *event) {
  BEGIN("cuEventSynchronize");
  return synchronizeEvent(call, event);
}
EXPORT cuEventElapsedTime(float *out, void *begin, void *end) {
  BEGIN("cuEventElapsedTime");
  return elapsedTime(call, out, begin, end);
}

// ---- Code ----

EXPORT cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values) {
  BEGIN("cuModuleLoadDataEx");
  char *log = nullptr;
  size_t logBytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) log = static_cast<char *>(values[i]);
    if (options[i] == 6) logBytes = reinterpret_cast<size_t>(values[i]) & 0xffffffff;
  }
  auto fail = [&](int result, const std::string &text) {
    if (log && logBytes) std::snprintf(log, logBytes, "%s\n", text.c_str());
    return result;
  };
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return fail(kNoBinary, "the shim executes PTX only");
  const std::string text = static_cast<const char *>(image); // to the NUL, which the API demands
  PtxModule ptx;
  std::string why;
  if (!readPtx(text, ptx, why))
    return fail(kInvalidCode, "ptxas application ptx input, line 1; error : " + why);
  if (!machine().options.jit)
    return fail(kInvalidCode, "ptxas application ptx input, line 7; error : planted");
  if (ptx.version > ptxVersion())
    return fail(kUnsupportedPtx, "ptxas : Unsupported .version " + std::to_string(ptx.version / 10) + "." +
                                     std::to_string(ptx.version % 10) + "; current version is '8." +
                                     std::to_string(ptxVersion() % 10) + "'");
  if (ptx.target > capability())
    return fail(kNoBinary, "ptxas : Program with .target 'sm_" + std::to_string(ptx.target) +
                               "' cannot be compiled to future architecture");
  auto module = std::make_shared<Module>();
  module->context = call.context, module->kernels = ptx.kernels;
  const std::string arch = "sm_" + std::to_string(ptx.target);
  ShimDevice device{"ptx", deviceRow()};
  device.row.name = arch; // the code's, because the image is for it
  if (!loadCode(*module, device, text, why)) return fail(kInvalidCode, why);
  return *out = modules.add(std::move(module)), 0;
}
EXPORT cuModuleUnload(void *module) {
  Call call("cuModuleUnload");
  return unloadModule(call, module);
}
EXPORT cuModuleGetFunction(void **out, void *module, const char *name) {
  BEGIN("cuModuleGetFunction");
  return getFunction(call, out, module, name);
}
EXPORT cuFuncGetAttribute(int *out, int which, void *function) {
  BEGIN("cuFuncGetAttribute");
  return functionAttribute(call, out, which, function);
}
EXPORT cuFuncSetAttribute(void *handle, int which, int value) {
  BEGIN("cuFuncSetAttribute");
  const auto function = call.object(functions, handle);
  if (!function) return kInvalidHandle;
  if (which == 8) {
    if (static_cast<uint64_t>(value) + function->kernel.staticShared >
        static_cast<uint64_t>(deviceRow().maxShared))
      return kInvalidValue;
    function->dynamicShared = static_cast<uint64_t>(value);
  } else if (which != 14) {
    return kInvalidValue;
  }
  return 0;
}
EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *function, int, size_t) {
  BEGIN("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return residentBlocks(call, out, function);
}

/// CUDA driver API reference, "Tensor Map Object Management": the rules of tiled maps, without those of 4-
/// and 6-bit types.
EXPORT cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address, const uint64_t *extents,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                              int interleave, int swizzle, int promotion, int fill) {
  BEGIN("cuTensorMapEncodeTiled"); // as drivers of CUDA 13.0 demand
  if (capability() < 90) return kInvalidValue;
  static constexpr uint32_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}; // by CUtensorMapDataType
  auto refuse = [&](const std::string &rule) {
    return machine().breach("tensor-map", "cuTensorMapEncodeTiled: " + rule), kInvalidValue;
  };
  if (reinterpret_cast<uint64_t>(out) % 64) return refuse("the map is not aligned to 64 bytes");
  if (type < 0 || type >= static_cast<int>(std::size(kBytes))) return refuse("there is no such data type");
  if (interleave != 0) return refuse("the shim has no interleaved layouts");
  if (swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill < 0 || fill > 1)
    return refuse("there is no such enumerator");
  if (fill == 1 && (type < 6 || type == 0)) return refuse("NaNs fill tensors of floats only");
  if (rank < 1 || rank > 5) return refuse("the rank is not 1 to 5");
  if (reinterpret_cast<uint64_t>(address) % 16) return refuse("the address is no multiple of 16");
  tessera::EmulatedTensorMap map;
  map.sizes.address = reinterpret_cast<uint64_t>(address), map.sizes.rank = rank;
  map.swizzle = swizzle ? 16u << swizzle : 0;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint64_t stride = i ? strides[i - 1] : kBytes[type];
    if (extents[i] == 0 || extents[i] > uint64_t{1} << 32) return refuse("an extent is not 1 to 2^32");
    if (i && (stride % 16 || stride >= uint64_t{1} << 40))
      return refuse("a stride is no multiple of 16 below 2^40");
    if (box[i] == 0 || box[i] > 256) return refuse("an extent of the box is not 1 to 256");
    if (elementStrides[i] != 1) return refuse("the shim has no strides of elements");
    map.sizes.extents[i] = extents[i], map.sizes.strides[i] = stride, map.sizes.box[i] = box[i];
  }
  const uint64_t row = uint64_t{box[0]} * kBytes[type];
  if (row % 16) return refuse("a row of the box is no multiple of 16 bytes");
  if (swizzle && row > map.swizzle) return refuse("a row of the box is longer than the swizzle");
  std::memcpy(out, &map, sizeof map);
  machine().tensorMaps.insert(std::string(static_cast<const char *>(out), sizeof map));
  return 0;
}

namespace {
struct alignas(8) Attribute {
  int id;
  char pad[4];
  unsigned cluster[16];
};
struct Config {
  std::array<unsigned, 3> grid, block;
  unsigned sharedBytes;
  void *stream;
  Attribute *attributes;
  unsigned attributeCount;
};
} // namespace
EXPORT cuLaunchKernelEx(const Config *config, void *function, void **separate, void **extra) {
  BEGIN("cuLaunchKernelEx");
  std::array<unsigned, 3> cluster = {1, 1, 1};
  for (const Attribute &attribute : std::span(config->attributes, config->attributeCount)) {
    if (attribute.id != 4)
      return machine().breach("cluster", "the shim knows no launch attribute but the cluster's extents"),
             kInvalidValue;
    std::copy_n(attribute.cluster, 3, cluster.begin());
  }
  if (cluster != std::array{1u, 1u, 1u} && capability() < 90)
    return machine().breach("cluster", "the device has no clusters"), kInvalidValue;
  return launch(call, function, config->grid, config->block, cluster, config->sharedBytes, config->stream,
                separate, extra, nullptr);
}

// ---- Graphs ----

EXPORT cuStreamBeginCapture_v2(void *stream, int) {
  BEGIN("cuStreamBeginCapture");
  return beginCapture(call, stream);
}
EXPORT cuStreamEndCapture(void *stream, void **out) {
  BEGIN("cuStreamEndCapture");
  return endCapture(call, stream, out);
}
EXPORT cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long) {
  BEGIN("cuGraphInstantiate");
  return instantiate(call, out, graph);
}
EXPORT cuGraphLaunch(void *graph, void *stream) {
  BEGIN("cuGraphLaunch");
  return launchGraph(call, graph, stream);
}
EXPORT cuGraphExecDestroy(void *graph) {
  Call call("cuGraphExecDestroy");
  return destroyExecutable(call, graph);
}
EXPORT cuGraphDestroy(void *graph) {
  Call call("cuGraphDestroy");
  return destroyGraph(call, graph);
}

/// The stream does no work that is queued from now on, until tesseraShimResume(): for tests of the order.
EXPORT tesseraShimPause(void *handle) {
  BEGIN("tesseraShimPause");
  const auto stream = call.stream(handle);
  return stream ? (machine().pause(stream), 0) : kInvalidHandle;
}
EXPORT tesseraShimResume() {
  std::lock_guard lock(machine().mutex);
  return machine().resume(), 0;
}
