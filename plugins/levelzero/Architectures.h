// Intel's GPUs.
#pragma once
#include <tessera/gpu_architecture.hpp>

namespace tessera::levelzero {

/// What all of them have in common.
constexpr GpuArchitecture xe(std::string_view name, int64_t sharedKiB, int64_t lanes,
                             MatrixProducts products) {
  return {.name = name,
          .features = "",
          .threads = 256,
          .warpSize = lanes, // that DPAS needs, and that a register has of 32 bits
          .staticShared = sharedKiB << 10,
          .maxShared = sharedKiB << 10,
          .groupSync = "workgroup",
          .deviceSync = "device",
          .floatAtomicAdd = false,
          .wideAlign = 4,
          .products = products};
}

constexpr GpuArchitecture withoutF64(GpuArchitecture row) {
  row.dtypes = "f32 tf32 f16 bf16 fp8_e4m3 fp8_e5m2 fp6_e2m3 fp6_e3m2 fp4_e2m1 "
               "i64 i32 i16 i8 u64 u32 u16 u8 bool";
  return row;
}

/// It has messages that bring 2D blocks of tensors to registers.
constexpr GpuArchitecture withBlocks(GpuArchitecture row) {
  row.readsBlocks = true;
  return row;
}

// `generic` has what all devices have that the driver supports: sub-groups of 16 lanes and 64 KiB.
constexpr GpuArchitecture kArchitectures[] = {
    withBlocks(xe("pvc", 128, 16,
                  {{{"dpas.8x16x16", "f16 bf16"}, {"dpas.8x16x32", "i8 u8"}, {"dpas.8x16x8.tf32", "tf32"}}})),
    withoutF64(xe("acm-g10", 64, 8, {{{"dpas.8x8x16", "f16 bf16"}, {"dpas.8x8x32", "i8 u8"}}})),
    withoutF64(xe("generic", 64, 16, {}))};

} // namespace tessera::levelzero
