// NVIDIA's GPUs, oldest first.
#pragma once
#include <tessera/gpu_architecture.hpp>

namespace tessera::ptx {

/// What compute capability 8.0 and later have in common.
constexpr GpuArchitecture ampere(std::string_view name, std::string_view features, int64_t sharedKiB,
                                 int64_t stages, MatrixProducts products) {
  return {.name = name,
          .features = features,
          .threads = 256,
          .warpSize = 32,
          .staticShared = 48 << 10,
          .maxShared = sharedKiB << 10,
          .groupSync = "block",
          .deviceSync = "device",
          .floatAtomicAdd = true,
          .loadsMatrices = true,
          .copiesAsync = true,
          .stages = stages,
          .products = products,
          .propagatesNaN = true};
}

constexpr MatrixProduct kHalf = {"mma.m16n8k16", "f16 bf16"}, kInteger = {"mma.m16n8k32.i8", "i8 u8"},
                        kTf32 = {"mma.m16n8k8.tf32", "tf32"}, kDouble = {"mma.m8n8k4", "f64"};
/// Its sums keep about 14 bits (docs/decisions/0092).
constexpr MatrixProduct kQuarter = {"mma.m16n8k32", "fp8_e4m3 fp8_e5m2", true};

/// Neither asynchronous copies, nor min.NaN and max.NaN, nor matrix instructions for bf16, tf32 and f64.
constexpr GpuArchitecture turing() {
  GpuArchitecture row =
      ampere("sm_75", "+ptx81", 64, 1, {{{"mma.m16n8k8", "f16"}, {"mma.m8n8k16.i8", "i8 u8"}}});
  row.copiesAsync = row.propagatesNaN = false;
  return row;
}

/// The instructions of compute capability 9.0 alone: no other device runs this code. Where wgmma cannot read
/// factors of fp8, it multiplies them in f16, which is faster than mma in fp8.
constexpr GpuArchitecture hopper() {
  GpuArchitecture row = ampere("sm_90a", "+ptx84", 227, 4,
                               {{{"wgmma.m64n8k16", "f16 bf16"},
                                 {"wgmma.m64n8k32", "fp8_e4m3 fp8_e5m2", true},
                                 {"wgmma.m64n8k8.tf32", "tf32"},
                                 kHalf,
                                 kInteger,
                                 kTf32,
                                 kDouble}});
  row.copiesBoxes = true;
  row.mostInCluster = 8; // more are not portable
  row.units = 132;
  row.registers = 64 << 10;
  row.productTiles = {{{128, 256, 64}, {128, 128, 64}, {64, 128, 64}, {64, 64, 64}}};
  return row;
}

/// The same of compute capability 10.0, whose tcgen05 adds products of fp8 in f32.
constexpr GpuArchitecture blackwell() {
  GpuArchitecture row = ampere("sm_100a", "+ptx86", 227, 4,
                               {{{"tcgen05.m128n16k16", "f16 bf16"},
                                 {"tcgen05.m64n8k16", "f16 bf16"},
                                 {"tcgen05.m128n16k32", "fp8_e4m3 fp8_e5m2"},
                                 {"tcgen05.m64n8k32", "fp8_e4m3 fp8_e5m2"},
                                 {"tcgen05.m128n16k8.tf32", "tf32"},
                                 {"tcgen05.m64n8k8.tf32", "tf32"},
                                 {"tcgen05.m128n16k32.i8", "i8 u8"},
                                 {"tcgen05.m64n16k32.i8", "i8 u8"},
                                 kHalf,
                                 kQuarter,
                                 kInteger,
                                 kTf32,
                                 kDouble}});
  row.copiesBoxes = true;
  row.mostInCluster = 8; // more are not portable
  row.units = 148;
  row.productTiles = {{{128, 256, 64}, {128, 128, 64}, {64, 128, 64}, {64, 64, 64}}};
  row.unusedProducts = "tcgen05.mma";
  return row;
}

// PTX ISA 8.1, 8.4, 8.6 and 8.7 are those of the drivers of CUDA 12.1, 12.4, 12.7 and 12.8.
constexpr GpuArchitecture kArchitectures[] = {
    turing(),
    ampere("sm_80", "+ptx81", 163, 3, {{kHalf, kInteger, kTf32, kDouble}}),
    ampere("sm_86", "+ptx81", 99, 3, {{kHalf, kInteger, kTf32, kDouble}}),
    ampere("sm_89", "+ptx84", 99, 3, {{kHalf, kQuarter, kInteger, kTf32, kDouble}}),
    ampere("sm_90", "+ptx84", 227, 4, {{kHalf, kQuarter, kInteger, kTf32, kDouble}}),
    hopper(),
    blackwell(),
    ampere("sm_120", "+ptx87", 99, 3, {{kHalf, kQuarter, kInteger, kTf32, kDouble}}),
};

} // namespace tessera::ptx
