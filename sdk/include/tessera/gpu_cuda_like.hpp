// What the classes D (gpu_driver.hpp) of drivers have in common whose C interface follows CUDA's driver API,
// as HIP's does: the calls, their order of parameters and the numbers of results are the same, and names
// differ. plugins/ptx/runtime and plugins/rocm/runtime are examples.
//
//   struct Types {                             // of the vendor
//     using Context = ...;                     // with a member `device`, the driver's number
//     using Stream, Event, Module, Function, Graph, Recording;  // handles; Recording: not instantiated
//     struct Calls { DriverCall<int(unsigned)> init{"cuInit"}; ... bool find(Driver &); };
//     static constexpr const char *kBackend = "ptx";
//     static constexpr int kMaxThreads, kMaxGridX, kUnits, kShared;  // attributes of devices
//     static bool isFatal(int result);         // every later call of the context fails
//     static std::string name(const Calls &, int result), reason(const Calls &, int result);
//   };
#pragma once
#include <tessera/require_cxx20.hpp>

#include <cmath>
#include <optional>
#include <tessera/driver.hpp>
#include <tessera/gpu_capabilities.hpp>
#include <tessera/gpu_driver.hpp>

namespace tessera::gpu {

/// What an architecture's table and the device say about it.
struct FoundArchitecture {
  GpuArchitecture row{};    // empty for a device that nothing is compiled for
  std::string name;         // "sm_80"
  std::string capabilities; // further keys, each preceded by ", "
};

/// The functions of gpu_driver.hpp that need nothing else than calls with CUDA's parameters. `D` derives from
/// it and has the rest, device(int number, int &device), and describeArchitecture(int device, int
/// driverVersion, FoundArchitecture &, GpuLimits &).
template <class D, class Types> class CudaLikeDriver {
public:
  using Context = typename Types::Context;
  using Stream = typename Types::Stream;
  using Event = typename Types::Event;
  using Module = typename Types::Module;
  using Function = typename Types::Function;
  using Graph = typename Types::Graph;

  void releaseHost(Context, void *p) { (void)calls_.releaseHost(p); }
  Outcome memory(Context, uint64_t &free, uint64_t &total) {
    size_t freeBytes = 0, totalBytes = 0;
    Outcome o = call(calls_.memoryInfo, &freeBytes, &totalBytes);
    if (!o.failed()) free = freeBytes, total = totalBytes;
    return o;
  }

  Outcome createStream(Context, Stream &out) { return call(calls_.streamCreate, &out, kNonBlocking); }
  void destroyStream(Context, Stream stream) { (void)calls_.streamDestroy(stream); }
  static void *nativeStream(Stream stream) { return stream; }
  Outcome query(Context, Stream stream) { return call(calls_.streamQuery, stream); }
  Outcome synchronize(Context, Stream stream) { return call(calls_.streamSynchronize, stream); }

  Outcome createEvent(Context, Event &out) { return call(calls_.eventCreate, &out, 0u); }
  void destroyEvent(Context, Event event) { (void)calls_.eventDestroy(event); }
  Outcome record(Context, Stream stream, Event event) { return call(calls_.eventRecord, event, stream); }
  Outcome wait(Context, Stream stream, Event event) { return call(calls_.streamWait, stream, event, 0u); }
  /// The handles of the default streams, 0x0, 0x1 and 0x2, are streams to every function (CUDA driver API
  /// reference, stream synchronization behavior; HIP has the same).
  Outcome foreignStream(Context, void *handle, Stream &out) {
    out = static_cast<Stream>(handle);
    int recording = 0;
    Outcome o = call(calls_.streamIsCapturing, out, &recording);
    if (!o.failed() && recording)
      return {TSR_EINVAL, "the stream of the other library records a graph, which would lack the work here"};
    return o;
  }
  Outcome queryEvent(Context, Event event) { return call(calls_.eventQuery, event); }
  Outcome synchronizeEvent(Context, Event event) { return call(calls_.eventSynchronize, event); }
  Outcome elapsed(Context, Event begin, Event end, int64_t &ns) {
    float ms = 0;
    Outcome o = call(calls_.eventElapsed, &ms, begin, end);
    if (!o.failed()) ns = std::llround(static_cast<double>(ms) * 1e6);
    return o;
  }

  void unloadModule(Context, Module module) { (void)calls_.moduleUnload(module); }
  Outcome function(Context, Module module, const std::string &name, Function &out, GpuFunctionInfo &info) {
    Outcome o = call(calls_.moduleFunction, &out, module, name.c_str());
    if (o.status == TSR_ENOTFOUND) return {TSR_EINVAL, "the image has no kernel " + name};
    int threads = 0, shared = 0, registers = 0;
    if (!o.failed()) o = call(calls_.functionAttribute, &threads, 0, out);
    if (!o.failed()) o = call(calls_.functionAttribute, &shared, 1, out);
    if (!o.failed()) o = call(calls_.functionAttribute, &registers, 4, out);
    if (!o.failed())
      info = {static_cast<uint32_t>(threads), static_cast<uint32_t>(registers),
              static_cast<uint64_t>(shared)};
    return o;
  }
  Outcome prepare(Context, Function function, const KernelSpec &spec, std::optional<int> &resident) {
    int blocks = 0;
    const auto threads = static_cast<int>(spec.block[0] * spec.block[1] * spec.block[2]);
    Outcome o = call(calls_.occupancy, &blocks, function, threads, spec.dynamicSharedBytes);
    if (!o.failed()) resident = blocks;
    return o;
  }

  Outcome beginGraph(Context, Stream stream) {
    return call(calls_.captureBegin, stream, kCaptureThreadLocal);
  }
  Outcome endGraph(Context, Stream stream, Graph &out) {
    typename Types::Recording recorded{};
    if (Outcome o = call(calls_.captureEnd, stream, &recorded); o.failed()) return o;
    Outcome o = call(calls_.graphInstantiate, &out, recorded, 0ull);
    (void)calls_.graphDestroy(recorded);
    return o;
  }
  Outcome launchGraph(Context, Stream stream, Graph graph) { return call(calls_.graphLaunch, graph, stream); }
  void destroyGraph(Context, Graph graph) { (void)calls_.graphExecDestroy(graph); }

protected:
  template <class... P, class... A> Outcome call(const DriverCall<int(P...)> &made, A... arguments) const {
    return outcome(made(arguments...), made.name());
  }
  /// Converts the result of a call.
  Outcome outcome(int result, std::string_view name) const {
    if (result == kSuccess) return {};
    if (result == kNotReady) return {TSR_NOT_READY};
    const std::string known = Types::name(calls_, result), reason = Types::reason(calls_, result);
    return {Types::isFatal(result)   ? TSR_EDEVICE
            : result == kOutOfMemory ? TSR_EOOM
            : result == kNotFound    ? TSR_ENOTFOUND
            : result == kUnsupported ? TSR_UNIMPLEMENTED
                                     : TSR_EINVAL,
            std::string(name) + " failed with " +
                (known.empty() ? "error " + std::to_string(result) : known) +
                (reason.empty() ? "" : ": " + reason)};
  }

  GpuDevices findIn(std::initializer_list<const char *> libraries) {
    GpuDevices out;
    Driver library(libraries);
    if (!library || !calls_.find(library)) {
      out.why = library.why();
      return out;
    }
    auto fails = [&](int result, std::string_view name) {
      if (result == kSuccess) return false;
      const std::string reason = Types::reason(calls_, result);
      out.why = std::string(name) + ": " + (reason.empty() ? "error " + std::to_string(result) : reason);
      return true;
    };
    int number = 0, version = 0;
    if (fails(calls_.init(0), calls_.init.name()) ||
        fails(calls_.deviceCount(&number), calls_.deviceCount.name()))
      return out;
    if (calls_.driverVersion(&version) == kSuccess) out.driver = Types::versionText(version);
    for (int i = 0; i < number; ++i)
      if (GpuDevice device; describe(i, version, device).into(out.why) == TSR_SUCCESS)
        out.devices.push_back(std::move(device)); // the others may work where one does not
    return out;
  }

  /// Access of a context to its peer's memory. `enable` makes the driver's call.
  template <class F> Outcome enablePeerBy(Context context, Context peer, F enable) {
    constexpr int kAlreadyEnabled = 704;
    if (context.device == peer.device) return {};
    int can = 0;
    if (Outcome o = call(calls_.deviceCanAccessPeer, &can, context.device, peer.device); o.failed()) return o;
    if (!can) {
      return {TSR_UNIMPLEMENTED, "device " + std::to_string(context.device) +
                                     " cannot access the memory of device " + std::to_string(peer.device)};
    }
    const int result = enable();
    return result == kAlreadyEnabled ? Outcome() : outcome(result, calls_.enablePeer.name());
  }

  typename Types::Calls calls_;

private:
  static constexpr int kSuccess = 0, kOutOfMemory = 2, kNotFound = 500, kNotReady = 600, kUnsupported = 801;
  static constexpr unsigned kNonBlocking = 1;
  static constexpr int kCaptureThreadLocal = 1;

  Outcome describe(int number, int driver, GpuDevice &out) {
    char name[256] = "", pci[32] = "";
    size_t bytes = 0;
    int units = 0, shared = 0, threads = 0, blocks = 0;
    int device = 0;
    Outcome o = static_cast<D *>(this)->device(number, device);
    if (!o.failed()) o = call(calls_.deviceName, name, int{sizeof name}, device);
    if (!o.failed()) o = call(calls_.deviceMemory, &bytes, device);
    for (auto [value, which] : {std::pair{&units, Types::kUnits},
                                {&shared, Types::kShared},
                                {&threads, Types::kMaxThreads},
                                {&blocks, Types::kMaxGridX}})
      if (!o.failed()) o = call(calls_.deviceAttribute, value, which, device);
    FoundArchitecture found;
    if (!o.failed()) o = static_cast<D *>(this)->describeArchitecture(device, driver, found, out.limits);
    if (o.failed()) return o;
    if (found.row.name.empty()) found.row.dtypes = "";
    found.row.maxShared = shared; // the device's, which may be less than the architecture's
    out.number = number;
    out.info.name = name;
    out.info.arch = std::string(Types::kBackend) + ":" + found.name;
    out.info.memoryBytes = bytes, out.info.maxSharedBytes = static_cast<uint64_t>(shared);
    out.info.computeUnits = static_cast<uint32_t>(units);
    out.info.vectorBytes = static_cast<uint32_t>(found.row.warpSize) * 4;
    out.info.capabilities = gpuCapabilities(Types::kBackend, out.info, found.row,
                                            {.memoryFlags = "device pinned_host", .peerAccess = true});
    out.info.capabilities.pop_back();
    out.info.capabilities += found.capabilities + "}";
    out.limits.threads = static_cast<uint32_t>(threads);
    out.limits.blocks = blocks;
    if (calls_.devicePci(pci, int{sizeof pci}, device) == kSuccess) out.pci = pci;
    return {};
  }
};

} // namespace tessera::gpu
