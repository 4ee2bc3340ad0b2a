// Intel's GPUs.
#pragma once
#include <tessera/gpu_architecture.hpp>

namespace tessera::levelzero {

constexpr GpuArchitecture kArchitectures[] = {
    {.name = "pvc",
     .features = "",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 128 << 10,
     .maxShared = 128 << 10,
     .groupSync = "workgroup",
     .deviceSync = "device",
     .floatAtomicAdd = false},
};

} // namespace tessera::levelzero
