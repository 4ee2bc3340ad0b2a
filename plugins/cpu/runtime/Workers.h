// Distributes a grid of tile programs over the machine's cores.
#pragma once
#include "plugins/cpu/runtime/Kernel.h"
#include <chrono>
#include <memory>

namespace tessera::cpu {

struct Job;

/// Runs the launches of one stream, one at a time, on the calling thread and on workers that the process
/// shares. Not thread-safe; each stream has its own.
class Launcher {
public:
  Launcher();
  ~Launcher();
  using Clock = std::chrono::steady_clock;
  /// Returns when every program has run, on this thread only if `isAlone`. `start`: when the caller began
  /// with it, if it has looked at the clock. Returns false when a thread could not get its scratch memory;
  /// then some programs did not run.
  [[nodiscard]] bool run(Kernel &kernel, const uint64_t *values, const LaunchGrid &grid, bool isAlone = false,
                         Clock::time_point start = {});
  /// The same on this thread only, without a look at the clock.
  [[nodiscard]] static bool runBriefly(const Kernel &kernel, const uint64_t *values, int64_t programs);
  /// Returns when the last run ended.
  Clock::time_point lastEnd() const { return lastEnd_; }

private:
  bool share(Kernel &, const uint64_t *values, const LaunchGrid &, int64_t first, int helpers,
             double expectedPs, bool isAwaited);
  static bool wasRecent(Clock::time_point end, Clock::time_point now);
  bool areHelpersAwake(Clock::time_point now) const;
  int helpersNow(double ps, int most, Clock::time_point now, bool &wouldShare) const;

  std::shared_ptr<Job> job_;
  // The ends of the last launch, of the last one that had helpers, and of the last one that had none only
  // because they slept.
  Clock::time_point lastEnd_, lastShared_, lastUnshared_;
};

} // namespace tessera::cpu
