// NVIDIA's driver for GpuBackend (tessera/gpu_driver.hpp has the contract of each function).
#pragma once
#include "plugins/ptx/Architectures.h"
#include "plugins/ptx/runtime/CudaApi.h"
#include <array>
#include <optional>
#include <tessera/gpu_driver.hpp>

namespace tessera::ptx {

/// Returns the architecture to compile for: the newest of kArchitectures that the device runs and whose PTX
/// the driver reads (12040: the one of CUDA 12.4). PTX is compiled for newer devices by the driver. If the
/// driver reads none of them, the oldest, whose images it refuses with its reason; null if the device is
/// older than all of them.
const GpuArchitecture *architectureFor(int major, int minor, int driver);

class CudaDriver {
public:
  struct Context {
    CudaContext *handle = nullptr;
    CudaDevice device = 0;
  };
  using Stream = CudaStream *;
  using Event = CudaEvent *;
  using Module = CudaModule *;
  using Function = CudaFunction *;
  using Graph = CudaGraphExec *;
  static constexpr const char *kStreamApi = "cuda";
  static constexpr int kScore = 0; // by name only, until it has been tested on hardware
  static constexpr std::array kFormats = {uint32_t{TSR_IMAGE_PTX}, uint32_t{TSR_IMAGE_CUBIN}};

  GpuDevices find();

  Outcome open(int number, Context &out);
  void close(Context context);
  Outcome enter(Context context);
  void leave(Context context);

  Outcome allocate(Context context, size_t bytes, void *&out);
  void release(Context context, void *p);
  Outcome allocateHost(Context context, size_t bytes, void *&out);
  void releaseHost(Context context, void *p);
  Outcome memory(Context context, uint64_t &free, uint64_t &total);
  Outcome enablePeer(Context context, Context peer);

  Outcome createStream(Context context, Stream &out);
  void destroyStream(Context context, Stream stream);
  static void *nativeStream(Stream stream) { return stream; }
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
  /// Converts the result of a call.
  Outcome status(Result result, const char *call) const;
  std::string text(Result result) const;
  Outcome describe(int number, int driver, GpuDevice &out) const;

#define CALL(member, symbol, parameters) Result(*member) parameters = nullptr;
  struct {
    TESSERA_CUDA_CALLS(CALL)
  } cuda_;
#undef CALL
};

} // namespace tessera::ptx
