// NVIDIA's driver for GpuBackend (tessera/gpu_driver.hpp has the contract of each function).
#pragma once
#include "plugins/ptx/Architectures.h"
#include "plugins/ptx/runtime/CudaApi.h"
#include <array>
#include <optional>
#include <tessera/gpu_cuda_like.hpp>
#include <tessera/tensor_map.hpp>

namespace tessera::ptx {

/// Returns the architecture to compile for: the newest of kArchitectures that the device runs and whose PTX
/// the driver reads (12040: the one of CUDA 12.4). PTX is compiled for newer devices by the driver. If the
/// driver reads none of them, the oldest, whose images it refuses with its reason; null if the device is
/// older than all of them.
const GpuArchitecture *architectureFor(int major, int minor, int driver);

struct CudaTypes {
  struct Context {
    CudaContext *handle = nullptr;
    CudaDevice device = 0;
  };
  using Stream = CudaStream *;
  using Event = CudaEvent *;
  using Module = CudaModule *;
  using Function = CudaFunction *;
  using Graph = CudaGraphExec *;
  using Recording = CudaGraph *;
  using Calls = CudaCalls;
  static constexpr const char *kBackend = "ptx";
  static constexpr int kMaxThreads = attribute::kMaxThreads, kMaxGridX = attribute::kMaxGridX,
                       kUnits = attribute::kMultiprocessors, kShared = attribute::kSharedOptin;
  static bool isFatal(Result result);
  static std::string name(const CudaCalls &calls, Result result);
  static std::string reason(const CudaCalls &calls, Result result);
  static std::string versionText(int version);
};

class CudaDriver : public gpu::CudaLikeDriver<CudaDriver, CudaTypes> {
public:
  static constexpr const char *kStreamApi = "cuda";
  static constexpr int kScore = 0; // by name only, until it has been tested on hardware
  static constexpr std::array kFormats = {uint32_t{TSR_IMAGE_PTX}, uint32_t{TSR_IMAGE_CUBIN}};

  /// NVTX; CUDA 13 has it under another name.
  static Driver rangeLibrary() { return Driver({"libnvToolsExt.so.1", "libnvtx3interop.so.1"}); }
  static constexpr const char *kPushRange = "nvtxRangePushA", *kPopRange = "nvtxRangePop";

  GpuDevices find() { return findIn({"libcuda.so.1"}); }
  // For the base:
  Outcome device(int number, CudaDevice &out) { return call(calls_.deviceGet, &out, number); }
  Outcome describeArchitecture(CudaDevice device, int driver, gpu::FoundArchitecture &out, GpuLimits &limits);

  Outcome open(int number, Context &out);
  void close(Context context);
  Outcome enter(Context context);
  void leave(Context context);

  Outcome allocate(Context context, size_t bytes, void *&out);
  void release(Context context, void *p);
  Outcome allocateHost(Context context, size_t bytes, void *&out);
  Outcome enablePeer(Context context, Context peer);

  Outcome copy(Context context, Stream stream, void *dst, const void *src, size_t bytes);
  Outcome fill(Context context, Stream stream, void *dst, uint8_t byte, size_t bytes);
  Outcome encodeTensorMap(const tsr_be_tensor_map_t &map, const TensorMapSizes &sizes, void *out);
  Outcome launch(Context context, Stream stream, Function function, const GpuLaunch &launch);

  Outcome loadModule(Context context, const ModuleImage &image, Module &out);
  Outcome prepare(Context context, Function function, const KernelSpec &spec, std::optional<int> &resident);
};

} // namespace tessera::ptx
