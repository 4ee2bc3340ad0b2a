// NVIDIA's GPUs, oldest first.
#pragma once
#include <tessera/gpu_architecture.hpp>

namespace tessera::ptx {

// PTX ISA 8.1 and 8.4 are those of the drivers of CUDA 12.1 and 12.4.
constexpr GpuArchitecture kArchitectures[] = {
    {.name = "sm_80",
     .features = "+ptx81",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 48 << 10,
     .maxShared = 163 << 10,
     .groupSync = "block",
     .deviceSync = "device",
     .floatAtomicAdd = true,
     .loadsMatrices = true,
     .copiesAsync = true,
     .stages = 3,
     .products = {{{"mma.m16n8k16", "f16 bf16"}}}},
    {.name = "sm_90",
     .features = "+ptx84",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 48 << 10,
     .maxShared = 227 << 10,
     .groupSync = "block",
     .deviceSync = "device",
     .floatAtomicAdd = true,
     .loadsMatrices = true,
     .copiesAsync = true,
     .stages = 4,
     .products = {{{"mma.m16n8k16", "f16 bf16"}}}},
    // The instructions of compute capability 9.0 alone: no other device runs this code.
    {.name = "sm_90a",
     .features = "+ptx84",
     .threads = 256,
     .warpSize = 32,
     .staticShared = 48 << 10,
     .maxShared = 227 << 10,
     .groupSync = "block",
     .deviceSync = "device",
     .floatAtomicAdd = true,
     .loadsMatrices = true,
     .copiesAsync = true,
     .stages = 4,
     .products = {{{"wgmma.m64n8k16", "f16 bf16"}, {"mma.m16n8k16", "f16 bf16"}}},
     .units = 132,
     .productTiles = {{{128, 256, 64}, {128, 128, 64}, {64, 128, 64}, {64, 64, 64}}}},
};

} // namespace tessera::ptx
