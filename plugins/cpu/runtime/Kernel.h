// A compiled kernel in the CPU runtime.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Runs the programs [begin, end) of the linearised grid. `values` are the launch values; `scratch` is
/// 64-byte aligned and private to the call. It is the compiler's CpuKernelFn.
using KernelFn = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

struct Kernel final : DeviceKernel {
  // for launches that run in the calling thread
  static constexpr size_t kMostValues = 64, kMostScratch = 4 << 20;

  Kernel(const KernelSpec &spec, const void *entry, std::shared_ptr<void> code)
      : DeviceKernel(spec.valueCount), name(kernelName(spec.name)), forcedBody(spec.forcedBody),
        scratchBytes(spec.scratchBytes), code(std::move(code)),
        entry(reinterpret_cast<KernelFn>(const_cast<void *>(entry))),
        runsAnywhere(spec.scratchBytes <= kMostScratch && spec.valueCount <= kMostValues && !spec.mayWait),
        sharesOperands(spec.sharesOperands) {}
  const std::string name, forcedBody;
  const size_t scratchBytes;
  const std::shared_ptr<void> code; // keeps `entry` valid
  const KernelFn entry;
  /// Whether the program's own threads may run it: it is small and does not wait for them.
  const bool runsAnywhere;
  /// Whether a call packs operands once for all of its programs, so that few long calls are faster. Those of
  /// one index of the grid's other axes, which follow each other, share the most.
  const bool sharesOperands;

  /// Runs the programs [begin, end). Reports the first call in which another body replaced the forced one.
  void run(const uint64_t *launchValues, int64_t begin, int64_t end, uint8_t *scratch) const {
    if (forcedBody.empty()) return entry(launchValues, begin, end, scratch);
    runForced(launchValues, begin, end, scratch);
  }

  /// Returns how long a launch is expected to take on one thread, in picoseconds; INT64_MAX if that is
  /// unknown. The cost of a program depends on dims and scalars, so the last measurement counts only if every
  /// value is between half and twice the measured one. Pointers and the contents of memory are ignored.
  int64_t expect(const uint64_t *launchValues, int64_t programs) const {
    const auto cost =
        static_cast<double>(programCost_.load(std::memory_order_relaxed)) * static_cast<double>(programs);
    if (valueCount > kMostValues || cost == 0 || cost > 1e15) return INT64_MAX;
    for (size_t i = 0; i < valueCount; ++i)
      if (!isLike(launchValues[i], measured_[i].load(std::memory_order_relaxed))) return INT64_MAX;
    return static_cast<int64_t>(cost);
  }
  /// The same for a launch in the calling thread, as it was with the helpers of the last one; INT64_MAX also
  /// if the kernel does not run there.
  int64_t predict(const uint64_t *launchValues, int64_t programs) const {
    if (!runsAnywhere) return INT64_MAX;
    const int64_t alone = expect(launchValues, programs);
    const int64_t threads = std::max<int64_t>(1, threads_.load(std::memory_order_relaxed));
    return alone == INT64_MAX ? alone : alone / threads;
  }
  /// Returns whether the next launch may go without a look at the clock: the last one had one thread, and one
  /// of the last few was measured. A lost count only changes which launch is measured.
  bool maySkipClock() {
    const uint32_t launches = unmeasured_.load(std::memory_order_relaxed);
    const bool skips = threads_.load(std::memory_order_relaxed) == 1 && launches < kMostUnmeasured;
    unmeasured_.store(skips ? launches + 1 : 0, std::memory_order_relaxed);
    return skips;
  }
  /// Stores the values of a launch and how long it took on `threads` threads, in picoseconds. The time is
  /// that of all programs, since they may differ and the first one may be the shortest. Launches on several
  /// streams may mix their values, which only makes the expectation worse.
  void remember(const uint64_t *launchValues, int64_t programs, int64_t ps, int threads) {
    if (valueCount > kMostValues) return;
    const double each = static_cast<double>(ps) * threads / static_cast<double>(programs);
    programCost_.store(std::max<uint64_t>(1, static_cast<uint64_t>(each)), std::memory_order_relaxed);
    threads_.store(threads, std::memory_order_relaxed);
    for (size_t i = 0; i < valueCount; ++i)
      if (uint64_t last = measured_[i].load(std::memory_order_relaxed);
          last != launchValues[i] && !(isAddress(last) && isAddress(launchValues[i])))
        measured_[i].store(launchValues[i], std::memory_order_relaxed);
  }

private:
  void runForced(const uint64_t *launchValues, int64_t begin, int64_t end, uint8_t *scratch) const;

  static constexpr uint32_t kMostUnmeasured = 15;
  /// Returns whether the value is in the range where user memory is mapped: the heap of a program that is not
  /// position-independent, as many interpreters are, begins after its code, which is at 4 MiB. An integer in
  /// this range counts as a pointer; a program with loops of so many steps is not brief at any of them.
  static bool isAddress(uint64_t value) { return value >= uint64_t{1} << 22 && value < uint64_t{1} << 47; }
  static bool isLike(uint64_t a, uint64_t b) {
    if (isAddress(a) || isAddress(b)) return isAddress(a) && isAddress(b);
    return a - a / 2 <= b && b - b / 2 <= a;
  }
  mutable std::atomic<bool> hasReported_{false};
  std::atomic<uint64_t> programCost_{0}; // picoseconds of one thread; 0: unknown
  std::atomic<int32_t> threads_{1};      // of the measured launch
  std::atomic<uint32_t> unmeasured_{0};  // brief launches since the measured one
  std::array<std::atomic<uint64_t>, kMostValues> measured_{};
};

} // namespace tessera::cpu
