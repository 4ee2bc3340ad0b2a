// What the driver of a GPU must offer to GpuBackend (gpu_backend.hpp).
//
// A vendor writes one class D that calls its driver library. All of its functions may be called from any
// thread. They return an Outcome, whose text has the driver's call and error. Its status decides what
// follows: TSR_EOOM makes the memory pool return idle memory and try again, TSR_EDEVICE means that the
// device or its context cannot be used any more, and every later call of the context is refused without
// reaching the driver. Functions named destroy, release, unload and close are called even then, and
// report nothing.
//
//   struct D {
//     using Context, Stream, Event, Module, Function, Graph;    // handles: copied freely
//     static constexpr const char *kStreamApi = "cuda";         // tsr_native_stream_t
//     static constexpr int kScore = 300;                        // of tsr_probe_t
//     static constexpr std::array kFormats = {TSR_IMAGE_PTX};   // images that loadModule takes
//
//     // Loads the library and looks for devices; called once. It must not crash without driver or device.
//     GpuDevices find();
//
//     Outcome open(int number, Context &);  // of GpuDevice
//     void close(Context);
//     Outcome enter(Context);  // before the functions below, in their thread; may be nested
//     void leave(Context);
//
//     Outcome allocate(Context, size_t bytes, void *&);      // aligned to 256
//     void release(Context, void *);
//     Outcome allocateHost(Context, size_t bytes, void *&);  // pinned; kernels can use the address
//     void releaseHost(Context, void *);
//     Outcome memory(Context, uint64_t &free, uint64_t &total);
//     Outcome enablePeer(Context, Context peer);             // enabled already: TSR_SUCCESS
//
//     // Streams are ordered queues. Nothing below waits except synchronize.
//     Outcome createStream(Context, Stream &);
//     void destroyStream(Context, Stream);     // its work is done
//     static void *nativeStream(Stream);       // the handle that tsrStreamNative gives out
//     Outcome copy(Context, Stream, void *dst, const void *src, size_t bytes);
//     Outcome fill(Context, Stream, void *dst, uint8_t byte, size_t bytes);
//     Outcome launch(Context, Stream, Function, const GpuLaunch &);
//     Outcome query(Context, Stream);          // or TSR_NOT_READY
//     Outcome synchronize(Context, Stream);
//
//     // An event is recorded once between createEvent and destroyEvent, or recorded again when nothing
//     // waits for it. destroyEvent may be called as soon as the event and all waits for it are done.
//     Outcome createEvent(Context, Event &);
//     void destroyEvent(Context, Event);
//     Outcome record(Context, Stream, Event);
//     Outcome wait(Context, Stream, Event);
//     Outcome queryEvent(Context, Event);      // or TSR_NOT_READY
//     Outcome synchronizeEvent(Context, Event);
//     Outcome elapsed(Context, Event begin, Event end, int64_t &ns);  // both are done
//
//     // Optional: the order with streams of other libraries. Gives the stream behind a handle of kStreamApi,
//     // to record events in and to make wait for them; fails if it records a graph. A wait is for the record
//     // before it, and the event may be recorded again before the wait is done.
//     Outcome foreignStream(Context, void *handle, Stream &);
//
//     // The text of a failure has the driver's log.
//     Outcome loadModule(Context, const ModuleImage &, Module &);
//     void unloadModule(Context, Module);
//     Outcome function(Context, Module, const std::string &name, Function &, GpuFunctionInfo &);
//     // Readies the function for launches. Sets `resident` to the blocks that fit on one unit at a time,
//     // if known.
//     Outcome prepare(Context, Function, const KernelSpec &, std::optional<int> &resident);
//
//     // Optional, all or none: the library of the vendor's profiler, and its functions int(const char *name)
//     // and int() that begin and end a range of the calling thread.
//     static Driver rangeLibrary();
//     static constexpr const char *kPushRange, *kPopRange;
//
//     // Optional, all or none: work between beginGraph and endGraph is recorded instead of executed. A
//     // graph is launched by one thread at a time.
//     Outcome beginGraph(Context, Stream);
//     Outcome endGraph(Context, Stream, Graph &);
//     Outcome launchGraph(Context, Stream, Graph);
//     void destroyGraph(Context, Graph);
//   };
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tessera/discovery.hpp>
#include <vector>

namespace tessera {

/// What became of a call: a status and, unless it is TSR_SUCCESS, the reason.
struct [[nodiscard]] Outcome {
  tsr_status_t status = TSR_SUCCESS;
  std::string text = {};
  bool failed() const { return status != TSR_SUCCESS; }
  /// Converts to the two results of backend.hpp's methods.
  tsr_status_t into(std::string &out) && {
    if (failed()) out = std::move(text);
    return status;
  }
};

/// What a launch may have at most.
struct GpuLimits {
  uint32_t threads = 1024;        // of a block
  int64_t blocks = INT32_MAX;     // of a grid, along x
  bool clusters = false;          // kernels may have clusters
  uint64_t parameterBytes = 4096; // of all parameters
};

struct GpuDevice : FoundDevice {
  GpuLimits limits;
  int number = 0; // the driver's, for open
};

struct GpuDevices {
  std::vector<GpuDevice> devices;
  std::string driver; // version of the driver
  std::string why;    // why there are no devices
};

/// What the driver knows of a compiled kernel.
struct GpuFunctionInfo {
  uint32_t maxThreads = 0;   // of a block of this kernel; 0: not known
  uint32_t registers = 0;    // of a thread; 0: not known
  uint64_t staticShared = 0; // bytes per block
};

struct GpuLaunch {
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamicShared;
  std::span<const std::byte> parameters; // the values, each at its offset
  std::span<const tsr_be_argument_t>
      arguments; // of each parameter in order; the workspace and then tensor maps, if any, come last
};

/// Whether the driver orders its streams with those of other libraries.
template <class D>
concept MeetsForeignStreams = requires(D d, typename D::Context c, typename D::Stream s) {
  { d.foreignStream(c, nullptr, s) } -> std::same_as<Outcome>;
};

/// Whether the driver records graphs.
template <class D>
concept RecordsGraphs = requires(D d, typename D::Context c, typename D::Stream s) {
  { d.beginGraph(c, s) } -> std::same_as<Outcome>;
};

} // namespace tessera
