// A compiled kernel as the CPU runtime holds it.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Runs the programs [begin, end) of the linearised grid; `values` are the launch values, `scratch` is
/// 64-byte aligned and private to the call. The compiler's CpuKernelFn.
using KernelFn = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

struct Kernel final : DeviceKernel {
  static constexpr size_t kMostValues = 16, kMostScratch = 64 << 10; // of launches in the calling thread

  Kernel(const KernelSpec &spec, const void *entry, std::shared_ptr<void> code)
      : DeviceKernel(spec.valueCount), name(kernelName(spec.name)), scratchBytes(spec.scratchBytes),
        code(std::move(code)), entry(reinterpret_cast<KernelFn>(const_cast<void *>(entry))),
        runsAnywhere(spec.scratchBytes <= kMostScratch && spec.valueCount <= kMostValues &&
                     spec.metadata.find("may_wait: false") != std::string::npos) {}
  const std::string name;
  const size_t scratchBytes;
  const std::shared_ptr<void> code; // keeps `entry` valid
  const KernelFn entry;
  /// Whether threads of the program may run it: it is small and does not wait for them. Only this spelling of
  /// the metadata counts, since a kernel about which nothing is known may wait.
  const bool runsAnywhere;
  /// What one program took when last measured, in picoseconds; decides whether a launch is worth a second
  /// thread, and nothing else. 0: unknown.
  std::atomic<uint64_t> programCost{0};

  /// How long a launch is expected to take, in picoseconds; INT64_MAX if that is unknown. A program's cost
  /// depends on dims and scalars, so the last measurement counts only if every one is between half and twice
  /// the measured one. Pointers do not count, and neither does what is in memory.
  int64_t predict(const uint64_t *launchValues, int64_t programs) const {
    const auto cost =
        static_cast<double>(launchCost_.load(std::memory_order_relaxed)) * static_cast<double>(programs);
    if (!runsAnywhere || cost == 0 || cost > 1e15) return INT64_MAX;
    for (size_t i = 0; i < valueCount; ++i)
      if (!isLike(launchValues[i], measured_[i].load(std::memory_order_relaxed))) return INT64_MAX;
    return static_cast<int64_t>(cost);
  }
  /// Stores the values of a launch and its time per program, in picoseconds: that of the whole launch, since
  /// programs may differ and the first chunk, which programCost is measured on, may be the shortest. Launches
  /// on several streams may mix theirs; the prediction is then worse, nothing else.
  void remember(const uint64_t *launchValues, uint64_t cost) { // of a kernel that runsAnywhere
    launchCost_.store(cost, std::memory_order_relaxed);
    for (size_t i = 0; i < valueCount; ++i)
      if (uint64_t last = measured_[i].load(std::memory_order_relaxed);
          last != launchValues[i] && !(isAddress(last) && isAddress(launchValues[i])))
        measured_[i].store(launchValues[i], std::memory_order_relaxed);
  }

private:
  /// Where memory of programs is mapped. An integer may be there too; then it counts as a pointer.
  static bool isAddress(uint64_t value) { return value >= uint64_t{1} << 32 && value < uint64_t{1} << 47; }
  static bool isLike(uint64_t a, uint64_t b) {
    if (isAddress(a) || isAddress(b)) return isAddress(a) && isAddress(b);
    return a - a / 2 <= b && b - b / 2 <= a;
  }
  std::atomic<uint64_t> launchCost_{0}; // 0: unknown
  std::array<std::atomic<uint64_t>, kMostValues> measured_{};
};

} // namespace tessera::cpu
