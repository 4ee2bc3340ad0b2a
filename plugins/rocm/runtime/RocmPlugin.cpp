#include "plugins/rocm/runtime/HipDriver.h"
#include <tessera/gpu_backend.hpp>

TSR_PLUGIN(tessera::GpuBackend<tessera::rocm::HipDriver, tessera::rocm::kArchitectures>);
