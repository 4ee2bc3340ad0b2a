// AMD's GPUs, oldest first within a line: CDNA (wavefronts of 64 lanes), then RDNA (32).
#pragma once
#include <tessera/gpu_architecture.hpp>

namespace tessera::rocm {

constexpr GpuArchitecture cdna(std::string_view name, MatrixProducts products, int64_t units = 0,
                               int64_t chiplets = 1) {
  return {.name = name,
          .features = "",
          .threads = 256,
          .warpSize = 64,
          .staticShared = 64 << 10,
          .maxShared = 64 << 10,
          .groupSync = "workgroup",
          .deviceSync = "agent",
          .floatAtomicAdd = true,
          .wideAlign = 4,
          .products = products,
          .units = units,
          .chiplets = chiplets,
          .raisesPriority = true};
}

constexpr GpuArchitecture kArchitectures[] = {
    cdna("gfx90a", {{{"mfma.32x32x8", "f16 bf16"},
                     {"mfma.16x16x16", "f16 bf16"},
                     {"mfma.32x32x8.i8", "i8 u8"},
                     {"mfma.16x16x16.i8", "i8 u8"},
                     {"mfma.16x16x4", "f64"}}}),
    // Its fp8_e5m2 has no infinities; the language's are multiplied in f16.
    cdna("gfx942",
         {{{"mfma.32x32x8", "f16 bf16"},
           {"mfma.16x16x16", "f16 bf16"},
           {"mfma.16x16x32", "fp8_e4m3"},
           {"mfma.32x32x16.i8", "i8 u8"},
           {"mfma.16x16x32.i8", "i8 u8"},
           {"mfma.16x16x4", "f64"}}},
         304, 8), // MI300X; MI300A has six of the same chiplets
    {.name = "gfx1100",
     .features = "",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 64 << 10,
     .maxShared = 64 << 10,
     .groupSync = "workgroup",
     .deviceSync = "agent",
     .floatAtomicAdd = true,
     .wideAlign = 4,
     .products = {{{"wmma.16x16x16", "f16 bf16"}, {"wmma.16x16x16.i8", "i8 u8"}}}},
};

} // namespace tessera::rocm
