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
  Kernel(const KernelSpec &spec, const void *entry, std::shared_ptr<void> code)
      : DeviceKernel(spec.valueCount), name(kernelName(spec.name)), scratchBytes(spec.scratchBytes),
        code(std::move(code)), entry(reinterpret_cast<KernelFn>(const_cast<void *>(entry))) {}
  const std::string name;
  const size_t scratchBytes;
  const std::shared_ptr<void> code; // keeps `entry` valid
  const KernelFn entry;
  /// What one program took when last measured, in picoseconds; decides whether a launch is worth a second
  /// thread, and nothing else. 0: unknown.
  std::atomic<uint64_t> programCost{0};
};

} // namespace tessera::cpu
