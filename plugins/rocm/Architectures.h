// AMD's GPUs, oldest first within a line: CDNA (wavefronts of 64 lanes), then RDNA (32).
#pragma once
#include <tessera/gpu_architecture.hpp>

namespace tessera::rocm {

constexpr GpuArchitecture cdna(std::string_view name, std::array<MatrixProduct, 8> products) {
  return {.name = name,
          .features = "",
          .threads = 256,
          .warpSize = 64,
          .staticShared = 64 << 10,
          .maxShared = 64 << 10,
          .groupSync = "workgroup",
          .deviceSync = "agent",
          .floatAtomicAdd = true,
          .products = products};
}

constexpr GpuArchitecture kArchitectures[] = {
    cdna("gfx90a", {{{"mfma.32x32x8", "f16 bf16"}, {"mfma.16x16x16", "f16 bf16"}}}),
    cdna("gfx942", {{{"mfma.32x32x8", "f16 bf16"}, {"mfma.16x16x16", "f16 bf16"}}}),
    {.name = "gfx1100",
     .features = "",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 64 << 10,
     .maxShared = 64 << 10,
     .groupSync = "workgroup",
     .deviceSync = "agent",
     .floatAtomicAdd = true,
     .products = {{{"wmma.16x16x16", "f16 bf16"}}}},
};

} // namespace tessera::rocm
