#include "plugins/ptx/runtime/CudaDriver.h"
#include <algorithm>
#include <cmath>
#include <tessera/driver.hpp>
#include <tessera/gpu_capabilities.hpp>

namespace tessera::ptx {
namespace {

constexpr size_t kLogBytes = 8192;

/// Errors after which every call of the context fails (CUDA driver API reference, CUresult).
bool isFatal(Result result) {
  return result == 46 /* DEVICE_UNAVAILABLE */ || result == 214 /* ECC_UNCORRECTABLE */ ||
         result == 220 /* NVLINK_UNCORRECTABLE */ || result == 226 /* CONTAINED */ ||
         result == 700 /* ILLEGAL_ADDRESS */ || result == 702 /* LAUNCH_TIMEOUT */ ||
         result == 709 /* CONTEXT_IS_DESTROYED */ || result == 710 /* ASSERT */ ||
         (result >= 714 && result <= 719) /* HARDWARE_STACK_ERROR to LAUNCH_FAILED */ ||
         result == 721 /* TENSOR_MEMORY_LEAK */ || result == 802 /* SYSTEM_NOT_READY */ || result == 999;
}

/// The oldest driver that reads the PTX of an architecture ("+ptx84"). PTX ISA 8.0 to 8.5 came with CUDA 12.0
/// to 12.5 (PTX ISA reference, release notes).
constexpr int driverFor(const GpuArchitecture &row) {
  int version = 0;
  forEachWord(row.features, [&](std::string_view word) {
    if (word.starts_with("+ptx"))
      for (const char digit : word.substr(4))
        version = version * 10 + (digit - '0');
    return version == 0;
  });
  return 12000 + (version - 80) * 10;
}
static_assert(std::ranges::all_of(kArchitectures, [](const GpuArchitecture &row) {
  return driverFor(row) >= 12000 && driverFor(row) <= 12050;
}));

CudaAddress address(const void *p) { return reinterpret_cast<CudaAddress>(p); }

} // namespace

const GpuArchitecture *architectureFor(int major, int minor, int driver) {
  const GpuArchitecture *best = nullptr;
  for (const GpuArchitecture &row : kArchitectures) {
    if (std::atoi(row.name.data() + 3) > major * 10 + minor) break;
    if (!best || driver >= driverFor(row)) best = &row;
  }
  return best;
}

std::string CudaDriver::text(Result result) const {
  const char *name = nullptr, *text = nullptr;
  (void)cuda_.errorName(result, &name);
  (void)cuda_.errorString(result, &text);
  return std::string(name ? name : ("error " + std::to_string(result)).c_str()) + (text ? ": " : "") +
         (text ? text : "");
}

Outcome CudaDriver::status(Result result, const char *call) const {
  if (result == result::kSuccess) return {};
  if (result == result::kNotReady) return {TSR_NOT_READY};
  std::string why = std::string(call) + " failed with " + text(result);
  if (isFatal(result)) return {TSR_EDEVICE, std::move(why)};
  switch (result) {
  case result::kOutOfMemory:
    return {TSR_EOOM, std::move(why)};
  case result::kNotFound:
    return {TSR_ENOTFOUND, std::move(why)};
  case result::kNotSupported:
    return {TSR_UNIMPLEMENTED, std::move(why)};
  default:
    return {TSR_EINVAL, std::move(why)};
  }
}

// ---- Devices ----

Outcome CudaDriver::describe(int number, int driver, GpuDevice &out) const {
  CudaDevice device;
  char name[256] = "", pci[32] = "";
  size_t bytes = 0;
  int major = 0, minor = 0, units = 0, shared = 0, threads = 0, clusters = 0, blocks = 0;
  if (Outcome o = status(cuda_.deviceGet(&device, number), "cuDeviceGet"); o.failed()) return o;
  if (Outcome o = status(cuda_.deviceName(name, sizeof name, device), "cuDeviceGetName"); o.failed())
    return o;
  if (Outcome o = status(cuda_.deviceMemory(&bytes, device), "cuDeviceTotalMem"); o.failed()) return o;
  for (auto [value, which] : {std::pair{&major, attribute::kMajor},
                              {&minor, attribute::kMinor},
                              {&units, attribute::kMultiprocessors},
                              {&shared, attribute::kSharedOptin},
                              {&threads, attribute::kMaxThreads},
                              {&blocks, attribute::kMaxGridX}})
    if (Outcome o = status(cuda_.deviceAttribute(value, which, device), "cuDeviceGetAttribute"); o.failed())
      return o;
  if (cuda_.deviceAttribute(&clusters, attribute::kClusterLaunch, device)) clusters = 0; // an older driver
  GpuArchitecture row{}; // of a device for which nothing is compiled
  row.warpSize = 32, row.dtypes = "";
  const std::string own = "sm_" + std::to_string(major * 10 + minor);
  if (const GpuArchitecture *found = architectureFor(major, minor, driver)) row = *found;
  row.maxShared = shared; // the device's, which may be less than the architecture's
  out.number = number;
  out.info.name = name;
  out.info.arch = "ptx:" + (row.name.empty() ? own : std::string(row.name));
  out.info.memoryBytes = bytes, out.info.maxSharedBytes = static_cast<uint64_t>(shared);
  out.info.computeUnits = static_cast<uint32_t>(units), out.info.vectorBytes = 32 * 4;
  out.info.capabilities =
      gpuCapabilities("ptx", out.info, row, {.memoryFlags = "device pinned_host", .peerAccess = true});
  out.info.capabilities.pop_back();
  out.info.capabilities +=
      ", \"compute_capability\": \"" + std::to_string(major) + "." + std::to_string(minor) + "\"}";
  out.limits.threads = static_cast<uint32_t>(threads);
  out.limits.blocks = blocks;
  out.limits.clusters = clusters;
  if (cuda_.devicePci(pci, sizeof pci, device) == result::kSuccess) out.pci = pci;
  return {};
}

GpuDevices CudaDriver::find() {
  GpuDevices out;
  Driver library({"libcuda.so.1"});
  const bool isComplete = [&] {
    if (!library) return false;
#define CALL(member, symbol, parameters)                                                                     \
  if (!library.find(cuda_.member, symbol)) return false;
    TESSERA_CUDA_CALLS(CALL)
#undef CALL
    return true;
  }();
  if (!isComplete) {
    out.why = library.why();
    return out;
  }
  auto fails = [&](Result result, const char *what) {
    if (result == result::kSuccess) return false;
    const char *reason = nullptr;
    (void)cuda_.errorString(result, &reason);
    out.why = std::string(what) + ": " + (reason ? reason : "error " + std::to_string(result));
    return true;
  };
  int number = 0, version = 0;
  if (fails(cuda_.init(0), "cuInit") || fails(cuda_.deviceCount(&number), "cuDeviceGetCount")) return out;
  if (cuda_.driverVersion(&version) == result::kSuccess)
    out.driver = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  for (int i = 0; i < number; ++i)
    if (GpuDevice device; describe(i, version, device).into(out.why) == TSR_SUCCESS)
      out.devices.push_back(std::move(device)); // the others may work where one does not
  return out;
}

// ---- Contexts and memory ----

Outcome CudaDriver::open(int number, Context &out) {
  if (Outcome o = status(cuda_.deviceGet(&out.device, number), "cuDeviceGet"); o.failed()) return o;
  return status(cuda_.contextRetain(&out.handle, out.device), "cuDevicePrimaryCtxRetain");
}
/// Never resets it, since the process's other users of the device share the primary context.
void CudaDriver::close(Context context) { (void)cuda_.contextRelease(context.device); }
Outcome CudaDriver::enter(Context context) {
  return status(cuda_.contextPush(context.handle), "cuCtxPushCurrent");
}
void CudaDriver::leave(Context) {
  CudaContext *popped = nullptr;
  (void)cuda_.contextPop(&popped);
}

Outcome CudaDriver::allocate(Context, size_t bytes, void *&out) {
  CudaAddress block = 0;
  Outcome o = status(cuda_.allocate(&block, bytes), "cuMemAlloc");
  if (!o.failed()) out = reinterpret_cast<void *>(block);
  return o;
}
void CudaDriver::release(Context, void *p) { (void)cuda_.release(address(p)); }
Outcome CudaDriver::allocateHost(Context, size_t bytes, void *&out) {
  return status(cuda_.allocateHost(&out, bytes, flag::kHostPortableAndMapped), "cuMemHostAlloc");
}
void CudaDriver::releaseHost(Context, void *p) { (void)cuda_.releaseHost(p); }
Outcome CudaDriver::memory(Context, uint64_t &free, uint64_t &total) {
  size_t freeBytes = 0, totalBytes = 0;
  Outcome o = status(cuda_.memoryInfo(&freeBytes, &totalBytes), "cuMemGetInfo");
  if (!o.failed()) free = freeBytes, total = totalBytes;
  return o;
}
Outcome CudaDriver::enablePeer(Context context, Context peer) {
  if (context.device == peer.device) return {};
  int can = 0;
  if (Outcome o =
          status(cuda_.deviceCanAccessPeer(&can, context.device, peer.device), "cuDeviceCanAccessPeer");
      o.failed())
    return o;
  if (!can) {
    return {TSR_UNIMPLEMENTED, "device " + std::to_string(context.device) +
                                   " cannot access the memory of device " + std::to_string(peer.device)};
  }
  const Result result = cuda_.enablePeer(peer.handle, 0);
  if (result == result::kPeerAccessAlreadyEnabled) return {};
  return status(result, "cuCtxEnablePeerAccess");
}

// ---- Streams and events ----

Outcome CudaDriver::createStream(Context, Stream &out) {
  return status(cuda_.streamCreate(&out, flag::kStreamNonBlocking), "cuStreamCreate");
}
void CudaDriver::destroyStream(Context, Stream stream) { (void)cuda_.streamDestroy(stream); }
Outcome CudaDriver::copy(Context, Stream stream, void *dst, const void *src, size_t bytes) {
  return status(cuda_.copy(address(dst), address(src), bytes, stream), "cuMemcpyAsync");
}
Outcome CudaDriver::fill(Context, Stream stream, void *dst, uint8_t byte, size_t bytes) {
  return status(cuda_.fill(address(dst), byte, bytes, stream), "cuMemsetD8Async");
}
Outcome CudaDriver::query(Context, Stream stream) {
  return status(cuda_.streamQuery(stream), "cuStreamQuery");
}
Outcome CudaDriver::synchronize(Context, Stream stream) {
  return status(cuda_.streamSynchronize(stream), "cuStreamSynchronize");
}
Outcome CudaDriver::createEvent(Context, Event &out) {
  return status(cuda_.eventCreate(&out, 0), "cuEventCreate");
}
void CudaDriver::destroyEvent(Context, Event event) { (void)cuda_.eventDestroy(event); }
Outcome CudaDriver::record(Context, Stream stream, Event event) {
  return status(cuda_.eventRecord(event, stream), "cuEventRecord");
}
Outcome CudaDriver::wait(Context, Stream stream, Event event) {
  return status(cuda_.streamWait(stream, event, 0), "cuStreamWaitEvent");
}
Outcome CudaDriver::queryEvent(Context, Event event) {
  return status(cuda_.eventQuery(event), "cuEventQuery");
}
Outcome CudaDriver::synchronizeEvent(Context, Event event) {
  return status(cuda_.eventSynchronize(event), "cuEventSynchronize");
}
Outcome CudaDriver::elapsed(Context, Event begin, Event end, int64_t &ns) {
  float ms = 0;
  Outcome o = status(cuda_.eventElapsed(&ms, begin, end), "cuEventElapsedTime");
  if (!o.failed()) ns = std::llround(static_cast<double>(ms) * 1e6);
  return o;
}

// ---- Code ----

Outcome CudaDriver::loadModule(Context, const ModuleImage &image, Module &out) {
  std::string ptx; // which must end in a NUL
  const void *data = image.data;
  if (image.format == TSR_IMAGE_PTX) {
    ptx.assign(static_cast<const char *>(image.data), image.bytes);
    data = ptx.c_str();
  }
  std::string errors(kLogBytes, '\0'), infos(kLogBytes, '\0');
  int options[] = {flag::kJitErrorLog, flag::kJitErrorLogBytes, flag::kJitInfoLog, flag::kJitInfoLogBytes};
  void *values[] = {errors.data(), reinterpret_cast<void *>(kLogBytes), infos.data(),
                    reinterpret_cast<void *>(kLogBytes)};
  Outcome o = status(cuda_.moduleLoad(&out, data, std::size(options), options, values), "cuModuleLoadDataEx");
  for (const std::string &log : {errors, infos})
    if (std::string_view text(log.c_str(), strnlen(log.data(), log.size())); o.failed() && !text.empty())
      o.text += "\n" + std::string(text.substr(0, text.find_last_not_of("\n ") + 1));
  return o;
}
void CudaDriver::unloadModule(Context, Module module) { (void)cuda_.moduleUnload(module); }

Outcome CudaDriver::function(Context, Module module, const std::string &name, Function &out,
                             GpuFunctionInfo &info) {
  const Result found = cuda_.moduleFunction(&out, module, name.c_str());
  if (found == result::kNotFound) {
    return {TSR_EINVAL, "the image has no kernel " + name};
  }
  if (Outcome o = status(found, "cuModuleGetFunction"); o.failed()) return o;
  int threads = 0, shared = 0, registers = 0;
  for (auto [value, which] : {std::pair{&threads, attribute::kFunctionMaxThreads},
                              {&shared, attribute::kFunctionShared},
                              {&registers, attribute::kFunctionRegisters}})
    if (Outcome o = status(cuda_.functionAttribute(value, which, out), "cuFuncGetAttribute"); o.failed())
      return o;
  info = {static_cast<uint32_t>(threads), static_cast<uint32_t>(registers), static_cast<uint64_t>(shared)};
  return {};
}

Outcome CudaDriver::prepare(Context, Function function, const KernelSpec &spec,
                            std::optional<int> &resident) {
  constexpr size_t kAlways = 48 << 10; // more must be asked for
  constexpr uint32_t kPortableCluster = 8;
  if (spec.dynamicSharedBytes > kAlways || spec.sharedBytes > kAlways)
    if (Outcome o = status(cuda_.functionSet(function, attribute::kFunctionDynamicShared,
                                             static_cast<int>(spec.dynamicSharedBytes)),
                           "cuFuncSetAttribute");
        o.failed())
      return o;
  if (spec.cluster[0] * spec.cluster[1] * spec.cluster[2] > kPortableCluster)
    if (Outcome o = status(cuda_.functionSet(function, attribute::kFunctionNonPortableCluster, 1),
                           "cuFuncSetAttribute");
        o.failed())
      return o;
  int blocks = 0;
  const auto threads = static_cast<int>(spec.block[0] * spec.block[1] * spec.block[2]);
  Outcome o = status(cuda_.occupancy(&blocks, function, threads, spec.dynamicSharedBytes),
                     "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (!o.failed()) resident = blocks;
  return o;
}

Outcome CudaDriver::launch(Context, Stream stream, Function function, const GpuLaunch &launch) {
  LaunchAttribute cluster{};
  cluster.id = kClusterDimension;
  std::copy_n(launch.cluster, 3, cluster.value.cluster);
  LaunchConfig config{};
  std::copy_n(launch.grid, 3, config.grid);
  std::copy_n(launch.block, 3, config.block);
  config.sharedBytes = launch.dynamicShared;
  config.stream = stream;
  config.attributes = &cluster;
  config.attributeCount = launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
  size_t bytes = launch.parameters.size();
  void *extra[] = {kParameterBuffer, const_cast<std::byte *>(launch.parameters.data()), kParameterBytes,
                   &bytes, kParameterEnd};
  return status(cuda_.launch(&config, function, nullptr, extra), "cuLaunchKernelEx");
}

// ---- Graphs ----

Outcome CudaDriver::beginGraph(Context, Stream stream) {
  return status(cuda_.captureBegin(stream, flag::kCaptureThreadLocal), "cuStreamBeginCapture");
}
Outcome CudaDriver::endGraph(Context, Stream stream, Graph &out) {
  CudaGraph *recorded = nullptr;
  if (Outcome o = status(cuda_.captureEnd(stream, &recorded), "cuStreamEndCapture"); o.failed()) return o;
  Outcome o = status(cuda_.graphInstantiate(&out, recorded, 0), "cuGraphInstantiate");
  (void)cuda_.graphDestroy(recorded);
  return o;
}
Outcome CudaDriver::launchGraph(Context, Stream stream, Graph graph) {
  return status(cuda_.graphLaunch(graph, stream), "cuGraphLaunch");
}
void CudaDriver::destroyGraph(Context, Graph graph) { (void)cuda_.graphExecDestroy(graph); }

} // namespace tessera::ptx
