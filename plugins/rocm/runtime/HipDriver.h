// AMD's HIP for GpuBackend (tessera/gpu_driver.hpp has the contract of each function).
#pragma once
#include "plugins/rocm/Architectures.h"
#include "plugins/rocm/runtime/HipApi.h"
#include <array>

namespace tessera::rocm {

/// Returns "gfx90a" for "gfx90a:sramecc+:xnack-". An image without these settings runs with either.
std::string_view processorOf(std::string_view architecture);

struct HipTypes {
  struct Context {
    int device = 0;
  };
  using Stream = HipStream *;
  using Event = HipEvent *;
  using Module = HipModule *;
  using Function = HipFunction *;
  using Graph = HipGraphExec *;
  using Recording = HipGraph *;
  using Calls = HipCalls;
  static constexpr const char *kBackend = "rocm";
  static constexpr int kMaxThreads = attribute::kMaxThreads, kMaxGridX = attribute::kMaxGridX,
                       kUnits = attribute::kMultiprocessors, kShared = attribute::kShared;
  static bool isFatal(Result result);
  static std::string name(const HipCalls &calls, Result result);
  static std::string reason(const HipCalls &calls, Result result);
  static std::string versionText(int version);
};

class HipDriver : public gpu::CudaLikeDriver<HipDriver, HipTypes> {
public:
  static constexpr const char *kStreamApi = "hip";
  static constexpr int kScore = 0; // by name only, until it has been tested on hardware
  static constexpr std::array kFormats = {uint32_t{TSR_IMAGE_HSACO}};

  /// roctx; rocprofv3 has one of its own.
  static Driver rangeLibrary() { return Driver({"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4"}); }
  static constexpr const char *kPushRange = "roctxRangePushA", *kPopRange = "roctxRangePop";

  GpuDevices find() { return findIn({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}); }
  // For the base:
  Outcome device(int number, int &out) { return out = number, Outcome(); }
  Outcome describeArchitecture(int device, int driver, gpu::FoundArchitecture &out, GpuLimits &limits);

  Outcome open(int number, Context &out);
  void close(Context) {}
  Outcome enter(Context context);
  void leave(Context context);

  Outcome allocate(Context, size_t bytes, void *&out) { return call(calls_.allocate, &out, bytes); }
  void release(Context, void *p) { (void)calls_.release(p); }
  Outcome allocateHost(Context, size_t bytes, void *&out) {
    return call(calls_.allocateHost, &out, bytes, flag::kHostPortableAndMapped);
  }
  Outcome enablePeer(Context context, Context peer) {
    return enablePeerBy(context, peer, [&] { return calls_.enablePeer(peer.device, 0); });
  }

  Outcome copy(Context, Stream stream, void *dst, const void *src, size_t bytes) {
    return call(calls_.copy, dst, src, bytes, flag::kCopyDefault, stream);
  }
  Outcome fill(Context, Stream stream, void *dst, uint8_t byte, size_t bytes) {
    return call(calls_.fill, dst, int{byte}, bytes, stream);
  }
  Outcome launch(Context context, Stream stream, Function function, const GpuLaunch &launch);

  Outcome loadModule(Context context, const ModuleImage &image, Module &out);
};

} // namespace tessera::rocm
