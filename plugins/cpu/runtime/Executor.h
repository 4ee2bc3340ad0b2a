// Decides which thread runs a stream's commands: the stream's own, a caller, or a host that waits. Only the
// holder of the token runs any, so commands run in the order in which they were published.
//
// The queue itself, and the lock of its writing end, belong to the stream. A test runs this class with every
// order of its steps (docs/decisions/0042).
#pragma once
#include "plugins/cpu/runtime/Gate.h"

namespace tessera::cpu {

/// What the executor uses of the machine.
struct StreamThreads {
  template <class T> using Atomic = std::atomic<T>;
  using Gate = cpu::Gate;
};

template <class Threads> class BasicExecutor {
public:
  using Clock = std::chrono::steady_clock;

  uint64_t published() const { return published_.load(std::memory_order_seq_cst); }
  bool passed(uint64_t count) const { return completed_.load(std::memory_order_seq_cst) >= count; }
  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }

  // ---- For callers that hold the lock of the queue's writing end ----

  bool isIdle() const { return passed(published_.load(std::memory_order_relaxed)); }
  /// Counts a command that was appended to the queue and returns the number of published ones. The caller
  /// then releases the lock and calls wakeThread().
  uint64_t publishQueued() {
    const uint64_t count = publishHere();
    queued_.store(queued_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    return count;
  }
  /// Takes the token for a command that the calling thread runs at once. Precondition: isIdle().
  bool beginHere() { return takeToken(); }
  /// Counts that command. The caller then releases the lock, runs it, and calls complete() and giveBack().
  uint64_t publishHere() {
    const uint64_t count = published_.load(std::memory_order_relaxed) + 1;
    published_.store(count, std::memory_order_seq_cst);
    return count;
  }

  // ---- For the holder of the token ----

  bool hasQueued() const {
    return queued_.load(std::memory_order_seq_cst) != taken_.load(std::memory_order_acquire);
  }
  /// A command of the queue was read. Other threads may see this late and then find an empty queue.
  void tookQueued() { taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  /// A command was executed or dropped.
  void complete() {
    completed_.store(completed_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    done_.notify();
  }
  void giveBack() {
    isRunning_.store(false, std::memory_order_seq_cst);
    if (hasQueued()) work_.notify(); // the stream's thread may have found the token taken
  }

  // ---- For the stream's thread ----

  void wakeThread() { work_.notify(); }
  void stop() {
    stop_.store(true, std::memory_order_seq_cst);
    work_.notify();
  }
  /// Runs queued commands by `runNext` until there were none for `idle`, or stop() was called and there are
  /// none.
  template <class RunNext>
  void serve(RunNext runNext, std::chrono::nanoseconds spin, std::chrono::nanoseconds idle) {
    for (;;) {
      const auto deadline = idle == idle.max() ? Clock::time_point::max() : Clock::now() + idle;
      const bool wasWoken = work_.wait(
          [&] {
            return (hasQueued() && !isRunning_.load(std::memory_order_seq_cst)) ||
                   stop_.load(std::memory_order_seq_cst);
          },
          spin, deadline);
      if (!hasQueued() && (!wasWoken || stop_.load(std::memory_order_seq_cst))) return;
      if (!takeToken()) continue;
      while (hasQueued())
        runNext();
      giveBack();
    }
  }

  // ---- For a host that waits ----

  /// Runs, of the first `target` commands, those that have not begun, up to the first one for which
  /// `mayRun()` returns false.
  template <class MayRun, class RunNext> void help(uint64_t target, MayRun mayRun, RunNext runNext) {
    if (passed(target) || !hasQueued() || !takeToken()) return;
    while (!passed(target) && hasQueued() && mayRun())
      runNext();
    giveBack();
  }
  /// Returns false if `deadline` passes before the first `target` commands are complete.
  bool waitFor(uint64_t target, std::chrono::nanoseconds spin,
               Clock::time_point deadline = Clock::time_point::max()) {
    return done_.wait([&] { return passed(target); }, spin, deadline);
  }

private:
  template <class T> using Atomic = typename Threads::template Atomic<T>;

  bool takeToken() { return !isRunning_.exchange(true, std::memory_order_seq_cst); }

  Atomic<uint64_t> published_{0}; // commands queued or begun in a calling thread
  Atomic<uint64_t> completed_{0}; // commands executed or dropped
  Atomic<uint64_t> queued_{0};    // commands appended to the queue
  Atomic<uint64_t> taken_{0};     // commands read from it
  Atomic<bool> isRunning_{false}; // the token
  Atomic<bool> stop_{false};
  typename Threads::Gate work_, done_;
};

using Executor = BasicExecutor<StreamThreads>;

} // namespace tessera::cpu
