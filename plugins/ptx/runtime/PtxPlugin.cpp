#include "plugins/ptx/runtime/CudaDriver.h"
#include <tessera/gpu_backend.hpp>

TSR_PLUGIN(tessera::GpuBackend<tessera::ptx::CudaDriver, tessera::ptx::kArchitectures>);
