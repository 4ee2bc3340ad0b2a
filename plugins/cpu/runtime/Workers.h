// Distributes a grid of tile programs over the machine's cores.
#pragma once
#include "plugins/cpu/runtime/Kernel.h"
#include <memory>

namespace tessera::cpu {

struct Job;

/// Runs the launches of one stream, one at a time, on the calling thread and on workers that the process
/// shares. Not thread-safe; each stream has its own.
class Launcher {
public:
  Launcher();
  ~Launcher();
  /// Returns when every program has run. Returns false when a thread could not get its scratch memory; then
  /// some programs did not run.
  [[nodiscard]] bool run(Kernel &kernel, const uint64_t *values, int64_t programs);

private:
  std::shared_ptr<Job> job_;
};

} // namespace tessera::cpu
