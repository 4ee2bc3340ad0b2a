// Runs the blocks of launches on the cores of the host.
#pragma once
#include "emulator/Block.h"
#include "emulator/Memory.h"
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::emulator {

/// The host's log.
struct Log {
  tsr_plugin_log_fn call = nullptr;
  void *user = nullptr;
};

/// Keeps the stacks of blocks from one launch to the next. Thread-safe.
class Runner {
public:
  Runner(int warpSize, int64_t registers, bool check, Schedule schedule, Log log)
      : warpSize_(warpSize), registers_(registers), check_(check), schedule_(schedule), log_(log) {}

  /// Logs what was executed, returns a status and fills `why` with what was found wrong. The values are those
  /// of the kernel's parameters.
  tsr_status_t run(const Kernel &kernel, const uint64_t *values, const LaunchGrid &grid, Memory &memory,
                   std::string &why);

private:
  std::unique_ptr<Block> take(int lanes);
  void giveBack(std::unique_ptr<Block> block);
  void report(const Launch &launch) const;

  const int warpSize_;
  const int64_t registers_;
  const bool check_;
  const Schedule schedule_;
  const Log log_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> idle_;
  std::mutex checking_; // one checked launch at a time
};

} // namespace tessera::emulator
