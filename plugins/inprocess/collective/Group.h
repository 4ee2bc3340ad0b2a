// What the ranks of one in-process communicator share: a slot each, how they meet, wait and break.
//
// A rank publishes by raising its step; whoever has read that step sees everything written before. Each slot
// has two cells, used by even and odd steps: a rank writes the cell of step s + 2 only after every other rank
// has published s + 1, and with it that it is done with s.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tessera/collective.hpp>
#include <vector>

namespace tessera::inprocess {

inline constexpr size_t kStageBytes = size_t{32} << 10;
inline constexpr size_t kWhereBytes = 104;

/// Written by its own rank only. The first bytes staged share the lines that bring the step.
struct alignas(128) Cell {
  std::atomic<uint32_t> step{0};
  collective::Signature signature;
  std::byte stage[kStageBytes];
  const void *src;
  void *dst;
  char where[kWhereBytes];
};

struct alignas(128) Slot {
  std::atomic<uint32_t> sleeping{0}; // 1: the rank waits on its bell
  std::atomic<uint32_t> bell{0};     // rung by others
  std::atomic<uint32_t> left{0};     // 1: the rank has destroyed its end
  Cell cells[2];

  Cell &at(uint32_t step) { return cells[step & 1]; }
};

/// Counts from the first question, which fast waits never reach.
class Deadline {
public:
  explicit Deadline(uint64_t ns) : ns_(ns) {}
  uint64_t left(); // UINT64_MAX: no limit
  uint64_t total() const { return ns_; }

private:
  uint64_t ns_;
  bool started_ = false;
  std::chrono::steady_clock::time_point start_;
};

/// Thread-safe. Every rank's Communicator shares ownership.
class Group {
public:
  Group(std::string id, int size);

  const std::string id;
  const int size;
  std::unique_ptr<Slot[]> slots;

  enum class Wait { Done, Broken, Timeout };
  /// Raises rank's step to `step` and wakes whom that concerns.
  void publish(int rank, uint32_t step);
  /// Until every other rank has reached `step`; `seen(peer)` is called once for each, as it does, and ends
  /// the wait with Broken by returning false.
  template <class Seen> Wait waitForAll(int rank, uint32_t step, Deadline &deadline, Seen seen) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      if (!reached(peer, step))
        if (Wait w = waitFor(rank, peer, step, deadline); w != Wait::Done) return w;
      if (!seen(peer)) return Wait::Broken;
    }
    return Wait::Done;
  }
  /// Ranks that have not reached `step`: "rank 1 and rank 3".
  std::string missing(uint32_t step) const;

  /// Calls whose ranks touch each other's memory begin together or not at all: enter() counts a rank in, and
  /// fails when another has given up; giveUp() fails when all are in, who then finish.
  bool enter() { return !(entered_.fetch_add(1, std::memory_order_acq_rel) & kGivenUp); }
  bool giveUp(uint64_t whole);

  /// The first failure is kept; the waiting ranks wake up.
  void fail(tsr_status_t status, std::string why);
  /// `rank` takes part no more; who waits for it is told.
  void leave(int rank);
  bool isBroken() const { return broken_.load(std::memory_order_acquire); }
  tsr_status_t failure(std::string &why) const;

private:
  static constexpr uint64_t kGivenUp = uint64_t{1} << 63;
  bool reached(int peer, uint32_t step) const {
    return static_cast<int32_t>(slots[peer].at(step).step.load(std::memory_order_acquire) - step) >= 0;
  }
  Wait waitFor(int rank, int peer, uint32_t step, Deadline &deadline);
  void ring(int rank);

  const int spins_;
  const bool fences_; // sleepers can make every thread's writes visible
  alignas(64) std::atomic<uint64_t> entered_{0};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_; // guards what follows
  tsr_status_t status_ = TSR_SUCCESS;
  std::string why_;
};

/// Waits until `size` ranks have named `id`, then gives them their group. Null with `status` and `why`.
std::shared_ptr<Group> meet(const std::string &id, int rank, int size, uint64_t timeoutNs,
                            tsr_status_t &status, std::string &why);

} // namespace tessera::inprocess
