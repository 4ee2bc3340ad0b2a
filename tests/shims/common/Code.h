// Code of a driver shim: modules, their kernels, and the checks of a launch.
#pragma once
#include "tests/shims/common/Emulated.h"
#include "tests/shims/common/Machine.h"
#include <array>
#include <span>

namespace tessera::shim {

struct Module {
  Context *context;
  std::vector<OwnKernel> kernels;
  std::shared_ptr<Emulated> code; // null: the table has no such image
  std::shared_ptr<Uses> uses = std::make_shared<Uses>();
  bool isUnloaded = false;
};
struct Function {
  std::shared_ptr<Module> module;
  OwnKernel kernel;
  uint64_t dynamicShared; // that a launch may ask for
};

/// What the shim's device is, after the vendor's documents and not after the table of the plugin under test.
struct ShimDevice {
  const char *backend;
  GpuArchitecture row;
};

/// Loads the emulated code of an image, if the table has it. Returns false with `why` filled if that fails.
bool loadCode(Module &module, const ShimDevice &device, std::string_view image, std::string &why);

/// Records a breach and returns true if the function's module was unloaded.
bool isUnloaded(const Function &function, const char *call);

struct Launch {
  std::array<unsigned, 3> grid, block, cluster;
  unsigned dynamicShared;
  std::span<const unsigned char> parameters; // as the kernel reads them
};
enum class Queued { Yes, Refused, UnknownImage };
/// Queues a launch if it is as the kernel was compiled, else records the breach. `failure` is the driver's
/// code for a failed launch.
Queued queueLaunch(const Function &function, const std::shared_ptr<Stream> &stream, const Launch &launch,
                   const char *call, int failure);

} // namespace tessera::shim
