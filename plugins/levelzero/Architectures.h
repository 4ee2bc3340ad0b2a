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
    {.name = "acm-g10",
     .features = "",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 64 << 10,
     .maxShared = 64 << 10,
     .groupSync = "workgroup",
     .deviceSync = "device",
     .floatAtomicAdd = false,
     // no f64
     .dtypes = "f32 tf32 f16 bf16 fp8_e4m3 fp8_e5m2 fp6_e2m3 fp6_e3m2 fp4_e2m1 "
               "i64 i32 i16 i8 u64 u32 u16 u8 bool"},
};

} // namespace tessera::levelzero
