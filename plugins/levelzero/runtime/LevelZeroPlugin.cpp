#include "plugins/levelzero/runtime/ZeDriver.h"
#include <tessera/gpu_backend.hpp>

TSR_PLUGIN(tessera::GpuBackend<tessera::levelzero::ZeDriver, tessera::levelzero::kArchitectures>);
