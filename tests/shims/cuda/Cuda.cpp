// libcuda.so.1 without a GPU: the functions of CUDA's driver API that Tessera uses, declared after the API's
// reference and not after the plugin's header, on the machine of tests/shims/common.
#include "tests/shims/common/Machine.h"
#include "tests/shims/cuda/Ptx.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace tessera::shim {
namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101,
              kInvalidContext = 201, kNoBinary = 209, kInvalidPtx = 218, kUnsupportedPtx = 222,
              kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kPeerAlreadyEnabled = 704,
              kLaunchFailed = 719, kCaptureUnsupported = 900, kUnknown = 999;

constexpr uint64_t kSharedDefault = 48 << 10;

/// From NVIDIA's documents, not from the table of the plugin under test.
GpuArchitecture deviceRow() {
  const std::string &arch = Machine::get().options.arch;
  GpuArchitecture row{.name = "sm_80",
                      .threads = 256,
                      .warpSize = 32,
                      .staticShared = 48 << 10,
                      .maxShared = 163 << 10,
                      .floatAtomicAdd = true};
  if (arch == "sm_90") row.name = "sm_90", row.maxShared = 227 << 10;
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

struct Module {
  Context *context;
  std::vector<OwnKernel> kernels;
  std::shared_ptr<Emulated> code;
  std::shared_ptr<Uses> uses = std::make_shared<Uses>();
  bool isUnloaded = false;
};
struct Function {
  std::shared_ptr<Module> module;
  OwnKernel kernel;
  uint64_t dynamicShared = kSharedDefault;
};
struct Recording {
  Context *context;
  std::vector<Work> works;
};

Machine &machine() { return Machine::get(); }
Handles<Context> contexts{"context", 0x41};
Handles<Module> modules{"module", 0x42};
Handles<Function> functions{"function", 0x43};
Handles<Recording> graphs{"graph", 0x44}, executables{"executable graph", 0x45};
std::array<std::pair<void *, std::shared_ptr<Context>>, 16> primary;
bool isInitialized = false;
thread_local std::vector<std::shared_ptr<Context>> current;

/// A call of the API. Holds the machine's lock.
class Call {
public:
  explicit Call(const char *name, bool needsContext = true) : name(name), lock(machine().mutex) {
    if (!isInitialized) machine().breach("not-initialized", std::string(name) + " before cuInit");
    if (!needsContext) return;
    if (current.empty()) {
      machine().breach("no-context", std::string(name) + " without a current context");
      failure = kInvalidContext;
    } else {
      context = current.back().get();
      failure = context->failure;
    }
  }
  /// The object of a handle, if it belongs to the current context.
  template <class T> std::shared_ptr<T> object(Handles<T> &handles, const void *handle) {
    std::shared_ptr<T> out = handles.find(handle, name);
    if constexpr (std::is_same_v<T, Function>)
      if (out && out->module->isUnloaded) {
        machine().breach("use-after-destroy",
                         std::string(name) + ": a function of a module that was unloaded");
        return nullptr;
      }
    if (out && contextOf(*out) != context) {
      machine().breach("wrong-context", std::string(name) + ": " + handles.kind() + " of another context");
      return nullptr;
    }
    return out;
  }
  const char *const name;
  std::unique_lock<std::mutex> lock;
  Context *context = nullptr;
  int failure = 0;

private:
  template <class T> static Context *contextOf(const T &object) { return object.context; }
  static Context *contextOf(const Function &f) { return f.module->context; }
};

#define EXPORT extern "C" __attribute__((visibility("default"))) int
#define BEGIN(name)                                                                                          \
  Call call(name);                                                                                           \
  if (call.failure) return call.failure

int place(Call &call, const Place &place) {
  return Machine::isDone(place) ? (machine().cover(place), call.context->failure) : kNotReady;
}

} // namespace
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
                                                    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
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
EXPORT cuDeviceTotalMem_v2(size_t *out, int) { return *out = size_t{8} << 30, 0; }
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
  const size_t left = modules.live() + graphs.live() + executables.live();
  if (left && machine().options.devices == 1)
    machine().breach("leak", std::to_string(left) + " modules and graphs left in a context that ends");
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
  *total = size_t{8} << 30;
  return *free = *total - std::min<size_t>(*total, machine().bytesInUse(call.context->device)), 0;
}
EXPORT cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  BEGIN("cuMemAlloc");
  if (bytes == 0) return kInvalidValue;
  const size_t limit = (size_t{8} << 30) - machine().bytesInUse(call.context->device);
  void *p = bytes > limit ? nullptr : machine().allocate(*call.context, bytes);
  if (p) *out = reinterpret_cast<uint64_t>(p);
  return p ? 0 : kOutOfMemory;
}
EXPORT cuMemFree_v2(uint64_t p) {
  Call call("cuMemFree");
  if (!call.context) return kInvalidContext;
  return machine().release(*call.context, reinterpret_cast<void *>(p), false, call.name) ? 0 : kInvalidValue;
}
EXPORT cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  BEGIN("cuMemHostAlloc");
  void *p = machine().allocatePinned(*call.context, bytes);
  if (p) *out = p;
  return p ? 0 : kOutOfMemory;
}
EXPORT cuMemFreeHost(void *p) {
  Call call("cuMemFreeHost");
  if (!call.context) return kInvalidContext;
  return machine().release(*call.context, p, true, call.name) ? 0 : kInvalidValue;
}
EXPORT cuMemcpyAsync(uint64_t dst, uint64_t src, size_t bytes, void *handle) {
  BEGIN("cuMemcpyAsync");
  const auto stream = call.object(machine().streams, handle);
  if (!stream) return kInvalidHandle;
  Work work;
  work.dst = reinterpret_cast<void *>(dst), work.src = reinterpret_cast<void *>(src), work.bytes = bytes;
  return machine().push(stream, work, call.name, kLaunchFailed) ? 0 : kInvalidValue;
}
EXPORT cuMemsetD8Async(uint64_t dst, unsigned char byte, size_t bytes, void *handle) {
  BEGIN("cuMemsetD8Async");
  const auto stream = call.object(machine().streams, handle);
  if (!stream) return kInvalidHandle;
  Work work;
  work.kind = Work::Kind::Fill;
  work.dst = reinterpret_cast<void *>(dst), work.byte = byte, work.bytes = bytes;
  return machine().push(stream, work, call.name, kLaunchFailed) ? 0 : kInvalidValue;
}

// ---- Streams and events ----

EXPORT cuStreamCreate(void **out, unsigned flags) {
  BEGIN("cuStreamCreate");
  if (flags > 1) return kInvalidValue;
  return *out = machine().createStream(*call.context), 0;
}
EXPORT cuStreamDestroy_v2(void *handle) {
  Call call("cuStreamDestroy");
  if (!call.object(machine().streams, handle)) return kInvalidHandle;
  machine().destroyStream(machine().streams.remove(handle, call.name));
  return 0;
}
EXPORT cuStreamQuery(void *handle) {
  BEGIN("cuStreamQuery");
  const auto stream = call.object(machine().streams, handle);
  return stream ? place(call, {stream, stream->queued}) : kInvalidHandle;
}
EXPORT cuStreamSynchronize(void *handle) {
  BEGIN("cuStreamSynchronize");
  const auto stream = call.object(machine().streams, handle);
  if (!stream) return kInvalidHandle;
  if (stream->isRecording)
    return machine().breach("recording", "cuStreamSynchronize of a stream that records"), kCaptureUnsupported;
  machine().synchronize(call.lock, {stream, stream->queued});
  return call.context->failure;
}
EXPORT cuStreamWaitEvent(void *handle, void *event, unsigned) {
  BEGIN("cuStreamWaitEvent");
  const auto stream = call.object(machine().streams, handle);
  const auto awaited = machine().events.find(event, call.name); // may be another context's
  if (!stream || !awaited) return kInvalidHandle;
  return machine().wait(stream, *awaited), 0;
}
EXPORT cuEventCreate(void **out, unsigned) {
  BEGIN("cuEventCreate");
  auto event = std::make_shared<Event>();
  event->context = call.context;
  return *out = machine().events.add(std::move(event)), 0;
}
EXPORT cuEventDestroy_v2(void *handle) {
  Call call("cuEventDestroy");
  return machine().events.remove(handle, call.name) ? 0 : kInvalidHandle;
}
EXPORT cuEventRecord(void *handle, void *streamHandle) {
  BEGIN("cuEventRecord");
  const auto event = call.object(machine().events, handle);
  const auto stream = call.object(machine().streams, streamHandle);
  if (!event || !stream) return kInvalidHandle;
  return machine().record(stream, *event), 0;
}
EXPORT cuEventQuery(void *handle) {
  BEGIN("cuEventQuery");
  const auto event = call.object(machine().events, handle);
  return event ? place(call, event->place) : kInvalidHandle;
}
EXPORT cuEventSynchronize(void *handle) {
  BEGIN("cuEventSynchronize");
  const auto event = call.object(machine().events, handle);
  if (!event) return kInvalidHandle;
  machine().synchronize(call.lock, event->place);
  return call.context->failure;
}
EXPORT cuEventElapsedTime(float *out, void *begin, void *end) {
  BEGIN("cuEventElapsedTime");
  const auto a = call.object(machine().events, begin), b = call.object(machine().events, end);
  if (!a || !b || !a->place.stream || !b->place.stream) return kInvalidHandle;
  if (!Machine::isDone(a->place) || !Machine::isDone(b->place)) return kNotReady;
  return *out = static_cast<float>(static_cast<double>(*b->time - *a->time) / 1e6), 0;
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
    return fail(kInvalidPtx, "ptxas application ptx input, line 1; error : " + why);
  if (!machine().options.jit)
    return fail(kInvalidPtx, "ptxas application ptx input, line 7; error : planted");
  if (ptx.version > ptxVersion())
    return fail(kUnsupportedPtx, "ptxas : Unsupported .version " + std::to_string(ptx.version / 10) + "." +
                                     std::to_string(ptx.version % 10) + "; current version is '8." +
                                     std::to_string(ptxVersion() % 10) + "'");
  if (ptx.target > capability())
    return fail(kNoBinary, "ptxas : Program with .target 'sm_" + std::to_string(ptx.target) +
                               "' cannot be compiled to future architecture");
  auto module = std::make_shared<Module>();
  module->context = call.context, module->kernels = ptx.kernels;
  if (const std::string emulated = emulatedImageOf(text); !emulated.empty()) {
    const std::string arch = "sm_" + std::to_string(ptx.target);
    tessera::GpuArchitecture row = deviceRow(); // with the code's name, because the image is for it
    row.name = arch;
    module->code = Emulated::load("ptx", row, emulated, why);
    if (!module->code) return fail(kInvalidPtx, "the emulated image: " + why);
  }
  return *out = modules.add(std::move(module)), 0;
}
EXPORT cuModuleUnload(void *handle) {
  Call call("cuModuleUnload");
  if (!call.object(modules, handle)) return kInvalidHandle;
  const auto module = modules.remove(handle, call.name);
  module->isUnloaded = true;
  if (isInUse(*module->uses) && !call.failure)
    machine().breach("unload-in-use", "cuModuleUnload of code that queued launches use");
  return 0;
}
EXPORT cuModuleGetFunction(void **out, void *handle, const char *name) {
  BEGIN("cuModuleGetFunction");
  const auto module = call.object(modules, handle);
  if (!module) return kInvalidHandle;
  for (const OwnKernel &kernel : module->kernels)
    if (kernel.name == name) {
      auto function = std::make_shared<Function>();
      function->module = module, function->kernel = kernel;
      return *out = functions.add(std::move(function)), 0;
    }
  return kNotFound;
}
EXPORT cuFuncGetAttribute(int *out, int which, void *handle) {
  BEGIN("cuFuncGetAttribute");
  const auto function = call.object(functions, handle);
  if (!function) return kInvalidHandle;
  const uint32_t *block = function->kernel.block;
  const std::map<int, int> values = {{0, block[0] ? static_cast<int>(block[0] * block[1] * block[2]) : 1024},
                                     {1, static_cast<int>(function->kernel.staticShared)},
                                     {4, 32}};
  const auto found = values.find(which);
  return found == values.end() ? kInvalidValue : (*out = found->second, 0);
}
EXPORT cuFuncSetAttribute(void *handle, int which, int value) {
  BEGIN("cuFuncSetAttribute");
  const auto function = call.object(functions, handle);
  if (!function) return kInvalidHandle;
  if (which == 8) {
    if (static_cast<uint64_t>(value) + function->kernel.staticShared > deviceRow().maxShared)
      return kInvalidValue;
    function->dynamicShared = static_cast<uint64_t>(value);
  } else if (which != 14) {
    return kInvalidValue;
  }
  return 0;
}
EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, void *handle, int, size_t) {
  BEGIN("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (!call.object(functions, handle)) return kInvalidHandle;
  return *out = static_cast<int>(machine().options.residents), 0;
}

namespace {
struct alignas(8) Attribute {
  int id;
  char pad[4];
  unsigned cluster[16];
};
struct Config {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void *stream;
  Attribute *attributes;
  unsigned attributeCount;
};
} // namespace
EXPORT cuLaunchKernelEx(const Config *config, void *handle, void **separate, void **extra) {
  BEGIN("cuLaunchKernelEx");
  const auto function = call.object(functions, handle);
  const auto stream = call.object(machine().streams, config->stream);
  if (!function || !stream) return kInvalidHandle;
  const OwnKernel &kernel = function->kernel;
  const unsigned block[3] = {config->blockX, config->blockY, config->blockZ};
  if (kernel.block[0] && !std::equal(block, block + 3, kernel.block)) {
    machine().breach("block", "kernel " + kernel.name + " is launched with blocks of " +
                                  std::to_string(block[0]) + "x" + std::to_string(block[1]) + "x" +
                                  std::to_string(block[2]) + " threads and was compiled for others");
    return kInvalidValue;
  }
  if ((config->sharedBytes > 0) != kernel.hasDynamicShared || config->sharedBytes > function->dynamicShared) {
    machine().breach("shared", "kernel " + kernel.name + " is launched with " +
                                   std::to_string(config->sharedBytes) +
                                   " bytes of dynamic shared memory, which are not its own");
    return kInvalidValue;
  }
  const uint64_t grid[3] = {config->gridX, config->gridY, config->gridZ};
  if (!grid[0] || !grid[1] || !grid[2] || grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535)
    return kInvalidValue;
  if (grid[1] * grid[2] > 1 && kernel.readsOnlyBlockX) {
    machine().breach("grid", "kernel " + kernel.name + " is launched with " + std::to_string(grid[1]) + "x" +
                                 std::to_string(grid[2]) +
                                 " blocks along y and z, which it does not tell apart");
    return kInvalidValue;
  }
  if (config->attributeCount)
    return machine().breach("cluster", "kernel " + kernel.name + " has no clusters"), kInvalidValue;
  if (separate || !extra || extra[0] != reinterpret_cast<void *>(1) ||
      extra[2] != reinterpret_cast<void *>(2) || extra[4])
    return machine().breach("parameters", "the parameters are not one buffer"), kInvalidValue;
  const auto *bytes = static_cast<const unsigned char *>(extra[1]);
  const size_t size = *static_cast<size_t *>(extra[3]);
  if (size != kernel.parameterBytes) {
    machine().breach("parameters", "kernel " + kernel.name + " gets " + std::to_string(size) +
                                       " bytes of parameters, it has " +
                                       std::to_string(kernel.parameterBytes));
    return kInvalidValue;
  }
  Work work;
  work.kind = Work::Kind::Launch;
  std::vector<uint64_t> values;
  for (const OwnKernel::Parameter &p : kernel.parameters) {
    uint64_t value = 0;
    std::memcpy(&value, bytes + p.offset, p.bytes);
    if (p.isPointer) {
      work.pointers.push_back(value);
      void *real = machine().resolve(reinterpret_cast<void *>(value), 0, call.context, call.name);
      if (value && !real) return kInvalidValue;
      if (value && real == reinterpret_cast<void *>(value) && !machine().isPinned(real)) {
        machine().breach("host-address", "kernel " + kernel.name + " gets an address of the host's memory");
        return kInvalidValue;
      }
      value = reinterpret_cast<uint64_t>(real);
    }
    values.push_back(value);
  }
  if (!function->module->code) {
    machine().breach("unknown-image", "kernel " + kernel.name + ": SHIM_TABLE has no such image");
    return kNoBinary;
  }
  work.launch = [module = function->module, kernel, values,
                 grid = std::array{config->gridX, config->gridY, config->gridZ},
                 shared = kernel.staticShared + config->sharedBytes](std::string &why) {
    return module->code->run(kernel, grid.data(), shared, values, why);
  };
  work.code = function->module->uses;
  return machine().push(stream, std::move(work), call.name, kLaunchFailed) ? 0 : kInvalidValue;
}

// ---- Graphs ----

EXPORT cuStreamBeginCapture_v2(void *handle, int) {
  BEGIN("cuStreamBeginCapture");
  const auto stream = call.object(machine().streams, handle);
  if (!stream) return kInvalidHandle;
  return stream->isRecording = true, 0;
}
EXPORT cuStreamEndCapture(void *handle, void **out) {
  BEGIN("cuStreamEndCapture");
  const auto stream = call.object(machine().streams, handle);
  if (!stream) return kInvalidHandle;
  if (!stream->isRecording)
    return machine().breach("recording", "cuStreamEndCapture of a stream that does not record"),
           kInvalidValue;
  stream->isRecording = false;
  auto graph = std::make_shared<Recording>();
  graph->context = call.context, graph->works = std::move(stream->recorded);
  stream->recorded.clear();
  return *out = graphs.add(std::move(graph)), 0;
}
EXPORT cuGraphInstantiateWithFlags(void **out, void *handle, unsigned long long) {
  BEGIN("cuGraphInstantiate");
  const auto graph = call.object(graphs, handle);
  return graph ? (*out = executables.add(std::make_shared<Recording>(*graph)), 0) : kInvalidHandle;
}
EXPORT cuGraphLaunch(void *handle, void *streamHandle) {
  BEGIN("cuGraphLaunch");
  const auto graph = call.object(executables, handle);
  const auto stream = call.object(machine().streams, streamHandle);
  if (!graph || !stream) return kInvalidHandle;
  for (const Work &work : graph->works)
    if (!machine().push(stream, work, call.name, kLaunchFailed)) return kInvalidValue;
  return 0;
}
EXPORT cuGraphExecDestroy(void *handle) {
  Call call("cuGraphExecDestroy");
  return executables.remove(handle, call.name) ? 0 : kInvalidHandle;
}
EXPORT cuGraphDestroy(void *handle) {
  Call call("cuGraphDestroy");
  return graphs.remove(handle, call.name) ? 0 : kInvalidHandle;
}
