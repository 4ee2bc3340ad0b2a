// The state that the ranks of one in-process communicator share: one slot per rank, and how ranks meet, wait
// and fail.
//
// A rank publishes by raising its step; a thread that has read this step sees everything written before it.
// Each slot has two cells, used by even and odd steps: a rank writes the cell of step s + 2 only after every
// other rank has published s + 1, which implies that they have finished with s.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tessera/collective.hpp>
#include <vector>

namespace tessera::inprocess {

inline constexpr size_t kStageBytes = size_t{32} << 10;
inline constexpr size_t kWhereBytes = 104;

/// Written by its own rank only. The first staged bytes share the cache lines that transport the step.
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

/// Starts counting with the first call of left(), which short waits never make.
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

/// A message from its send to its recv.
struct Message {
  int from;
  collective::Signature signature;
  std::string where; // of the send
  std::unique_ptr<std::byte[]> data;
};

/// The messages to one rank, in the order of their sends.
struct Inbox {
  std::mutex mutex; // guards `messages`
  std::condition_variable changed;
  std::list<Message> messages;
};

/// Thread-safe. Every rank's Communicator shares ownership.
class Group {
public:
  Group(std::string id, int size);

  const std::string id;
  const int size;
  std::unique_ptr<Slot[]> slots;

  enum class Wait { Done, Broken, Timeout };
  /// Raises the rank's step to `step` and wakes the ranks that wait for it.
  void publish(int rank, uint32_t step);
  /// Waits until every other rank has reached `step`. Calls `seen(peer)` once for each rank that reaches it;
  /// if that returns false, the wait ends with Broken.
  /// `mayEnd`: the wait ends when the group breaks; else only when all ranks have come.
  template <class Seen>
  Wait waitForAll(int rank, uint32_t step, Deadline &deadline, Seen seen, bool mayEnd = true) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      if (!reached(peer, step))
        if (Wait w = waitFor(rank, peer, step, deadline, mayEnd); w != Wait::Done) return w;
      if (!seen(peer)) return Wait::Broken;
    }
    return Wait::Done;
  }
  /// Returns the ranks that have not reached `step`: "rank 1 and rank 3".
  std::string missing(uint32_t step) const;

  /// Calls whose ranks access each other's memory begin together or not at all. enter() counts a rank in, and
  /// fails when another rank has given up. giveUp() fails when all ranks are in, which then finish the call.
  bool enter() { return !(entered_.fetch_add(1, std::memory_order_acq_rel) & kGivenUp); }
  bool giveUp(uint64_t whole);

  /// Adds a message to the rank's inbox.
  void send(int to, Message message);
  /// Takes the oldest message from `from` with this tag out of the rank's inbox; waits for it.
  Wait receive(int rank, int from, int32_t tag, Deadline &deadline, Message &out);

  /// Keeps the first failure and wakes the waiting ranks.
  void fail(tsr_status_t status, std::string why);
  /// `rank` takes no further part. Wakes the other ranks, which then see that it has left.
  void leave(int rank);
  bool isBroken() const { return broken_.load(std::memory_order_acquire); }
  tsr_status_t failure(std::string &why) const;

private:
  static constexpr uint64_t kGivenUp = uint64_t{1} << 63;
  bool reached(int peer, uint32_t step) const {
    return static_cast<int32_t>(slots[peer].at(step).step.load(std::memory_order_acquire) - step) >= 0;
  }
  Wait waitFor(int rank, int peer, uint32_t step, Deadline &deadline, bool mayEnd);
  void ring(int rank);
  void ringInbox(int rank);
  bool hasLeft(int rank) const { return slots[rank].left.load(std::memory_order_seq_cst); }

  const int spins_;
  const bool fences_; // whether sleepers can make every thread's writes visible (membarrier)
  const std::unique_ptr<Inbox[]> inboxes_;
  alignas(64) std::atomic<uint64_t> entered_{0};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_; // guards the members below
  tsr_status_t status_ = TSR_SUCCESS;
  std::string why_;
};

/// Waits until `size` ranks have passed `id`, then returns their group. Fills `status` and `why` and returns
/// null on failure.
std::shared_ptr<Group> meet(const std::string &id, int rank, int size, uint64_t timeoutNs,
                            tsr_status_t &status, std::string &why);

} // namespace tessera::inprocess
