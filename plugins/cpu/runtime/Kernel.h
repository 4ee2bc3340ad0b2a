// A compiled kernel as the CPU runtime holds it.
#pragma once
#include <atomic>
#include <cstdint>
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Runs the programs [begin, end) of the linearised grid; `values` are the launch values, `scratch` is
/// 64-byte aligned and private to the call. The compiler's CpuKernelFn.
using KernelFn = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

struct Kernel final : DeviceKernel {
  explicit Kernel(KernelImage i)
      : DeviceKernel(i.valueCount), image(std::move(i)),
        entry(reinterpret_cast<KernelFn>(const_cast<void *>(image.entry))) {}
  const KernelImage image;
  const KernelFn entry;
  /// What one program took when last measured, in picoseconds; decides whether a launch is worth a second
  /// thread, and nothing else. 0: unknown.
  std::atomic<uint64_t> programCost{0};
};

} // namespace tessera::cpu
