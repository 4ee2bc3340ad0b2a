// Intel's Level Zero for GpuBackend (tessera/gpu_driver.hpp has the contract of each function).
//
// A stream is an immediate command list, whose commands the device may overlap: a barrier stands between two
// of them. A list says nothing about its state, so a question about a stream appends a barrier that signals
// an event. A graph is a command list that a queue executes (ZeGraphs.cpp).
#pragma once
#include "plugins/levelzero/Architectures.h"
#include "plugins/levelzero/runtime/ZeApi.h"
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <tessera/gpu_driver.hpp>

namespace tessera::levelzero {

/// Returns the architecture to compile for, by the device's PCI id: `generic` if no other one is the
/// device's.
const GpuArchitecture &architectureFor(uint32_t deviceId);

/// Returns end - begin of a device's clock that has `bits` bits; the two are less than half its period apart.
int64_t ticksBetween(uint64_t begin, uint64_t end, uint32_t bits);

struct ZeDevice {
  Handle driver = nullptr, device = nullptr;
  uint32_t queueGroup = 0; // that takes kernels
  uint64_t bytes = 0, largest = 0;
  double nsPerTick = 0;
  uint32_t timestampBits = 64;
  uint32_t largestGroup = 0; // threads
};
struct ZeContext;
struct ZeStream;
struct ZeEvent;
struct ZeModule;
struct ZeKernel;
struct ZeGraph;

class ZeDriver {
public:
  using Context = ZeContext *;
  using Stream = ZeStream *;
  using Event = ZeEvent *;
  using Module = ZeModule *;
  using Function = ZeKernel *;
  using Graph = ZeGraph *;
  static constexpr const char *kStreamApi = "level_zero";
  static constexpr int kScore = 0; // by name only, until it has been tested on hardware
  static constexpr std::array kFormats = {uint32_t{TSR_IMAGE_SPIRV}};

  GpuDevices find();

  Outcome open(int number, Context &out);
  void close(Context context);
  Outcome enter(Context) { return {}; } // objects name their context
  void leave(Context) {}

  Outcome allocate(Context context, size_t bytes, void *&out);
  void release(Context context, void *p);
  Outcome allocateHost(Context context, size_t bytes, void *&out);
  void releaseHost(Context context, void *p);
  Outcome memory(Context context, uint64_t &free, uint64_t &total);
  Outcome enablePeer(Context context, Context peer);

  Outcome createStream(Context context, Stream &out);
  void destroyStream(Context context, Stream stream);
  static void *nativeStream(Stream stream);
  Outcome copy(Context context, Stream stream, void *dst, const void *src, size_t bytes);
  Outcome fill(Context context, Stream stream, void *dst, uint8_t byte, size_t bytes);
  Outcome launch(Context context, Stream stream, Function function, const GpuLaunch &launch);
  Outcome query(Context context, Stream stream);
  Outcome synchronize(Context context, Stream stream);

  Outcome createEvent(Context context, Event &out);
  void destroyEvent(Context context, Event event);
  Outcome record(Context context, Stream stream, Event event);
  Outcome wait(Context context, Stream stream, Event event);
  Outcome queryEvent(Context context, Event event);
  Outcome synchronizeEvent(Context context, Event event);
  Outcome elapsed(Context context, Event begin, Event end, int64_t &ns);

  Outcome loadModule(Context context, const ModuleImage &image, Module &out);
  void unloadModule(Context context, Module module);
  Outcome function(Context context, Module module, const std::string &name, Function &out,
                   GpuFunctionInfo &info);
  Outcome prepare(Context context, Function function, const KernelSpec &spec, std::optional<int> &resident);

  Outcome beginGraph(Context context, Stream stream);
  Outcome endGraph(Context context, Stream stream, Graph &out);
  Outcome launchGraph(Context context, Stream stream, Graph graph);
  void destroyGraph(Context context, Graph graph);

private:
  /// Level Zero's memory belongs to a context. All contexts of Tessera on devices of one driver share one, so
  /// that devices can access each other's memory.
  struct Shared {
    Handle driver, context;
    int users;
  };

  template <class... P, class... A> Outcome call(const DriverCall<Result(P...)> &made, A... arguments) const {
    return outcome(made(arguments...), made.name());
  }
  static Outcome outcome(Result result, std::string_view name);
  Outcome describe(Handle driver, Handle device, bool isOld, GpuDevice &out);
  /// Calls append(list) after a barrier, if commands before it may still run.
  template <class F> Outcome append(Stream stream, F append);
  /// Appends a barrier that signals one event and waits for another; either may be null.
  Outcome barrier(Stream stream, Event signals, Event awaits);
  /// As barrier, with the stream's lock held.
  Outcome barrierLocked(Stream stream, Event signals, Event awaits);
  /// As barrierLocked, for events that are reset in the order of lists. The list is not the stream's alone.
  Outcome barrierOf(Handle list, Event signals, Event awaits) const;
  /// Compiles an image; the text of a failure has the log.
  Outcome build(Context context, const std::string &image, const std::string &flags, Handle &out);
  Outcome createKernel(Handle module, const std::string &name, Handle &out, KernelProperties &properties);
  void avoidSpills(Context context, Module module, const std::string &name, Handle &handle,
                   KernelProperties &properties);
  /// The event after all commands of the stream so far; null if it has had none since it was last found idle.
  Outcome mark(Context context, Stream stream, std::shared_ptr<ZeEvent> &out);

  ZeCalls calls_;
  std::vector<ZeDevice> devices_; // by GpuDevice's number
  std::mutex mutex_;              // guards what follows
  std::vector<Shared> shared_;
};

} // namespace tessera::levelzero
