// Lets threads wait for a condition on atomics that other threads modify: a short spin, then sleep on a
// futex.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::cpu {

inline void spinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// What Gate and Executor use of the machine. A test replaces it, to run every order of their steps.
struct SystemThreads {
  template <class T> using Atomic = std::atomic<T>;

  /// Returns immediately if the word is not `seen`. After signals and spurious wake-ups it returns early.
  static void sleep(Atomic<uint32_t> &word, uint32_t seen, timespec *timeout) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, timeout, nullptr, 0);
  }
  static void wake(Atomic<uint32_t> &word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the futex word");
};

/// Spinning helps if the awaited thread runs on another core. If both share one, it only delays that thread:
/// then a spinning thread is preempted, which it notices as a gap between two looks at the clock. No thread
/// of the process spins for a while afterwards.
class SpinLimit {
public:
  using Clock = std::chrono::steady_clock;
  static bool maySpin(Clock::time_point now) {
    return now.time_since_epoch().count() >= until_.load(std::memory_order_relaxed);
  }
  /// Reports two looks at the clock of a spinning thread. Returns false if it should stop.
  static bool sawTimes(Clock::time_point before, Clock::time_point now) {
    if (now - before < kGap) return true;
    until_.store((now + kPause).time_since_epoch().count(), std::memory_order_relaxed);
    return false;
  }

private:
  static constexpr auto kGap = std::chrono::microseconds(50);
  static constexpr auto kPause = std::chrono::milliseconds(10);
  static inline std::atomic<Clock::rep> until_{INT64_MIN};
};

/// Looks for at most `time` whether `done()` returns true. Returns false otherwise, and sooner on a core that
/// is shared.
template <class Predicate>
bool spinUntil(Predicate done, std::chrono::nanoseconds time,
               SpinLimit::Clock::time_point deadline = SpinLimit::Clock::time_point::max()) {
  auto now = SpinLimit::Clock::now();
  if (!SpinLimit::maySpin(now)) return false;
  for (const auto end = std::min(now + time, deadline); now < end;) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      spinPause();
    }
    const auto before = now;
    now = SpinLimit::Clock::now();
    if (!SpinLimit::sawTimes(before, now)) return false;
  }
  return false;
}

/// An eventcount. The waker changes the condition with a seq_cst store, then calls notify(); the waiter's
/// predicate reads it with seq_cst loads. In the single order of those operations either the waker sees the
/// sleeper, or the sleeper's last check sees the change: no wake-up is lost, and notify() costs one load when
/// nobody sleeps.
template <class Threads> class BasicGate {
public:
  using Clock = std::chrono::steady_clock;

  /// Waits until `done()` returns true. Returns false if `deadline` passes first.
  template <class Predicate>
  bool wait(Predicate done, std::chrono::nanoseconds spin,
            Clock::time_point deadline = Clock::time_point::max()) {
    if (done()) return true;
    if (spin.count() > 0 && spinUntil(done, spin, deadline)) return true;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool result;
    for (;;) {
      uint32_t seen = epoch_.load(std::memory_order_seq_cst);
      if ((result = done()) || isPast(deadline)) break;
      sleep(seen, deadline);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }

  void notify() {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    Threads::wake(epoch_);
  }

private:
  static bool isPast(Clock::time_point deadline) {
    return deadline != Clock::time_point::max() && Clock::now() >= deadline;
  }

  void sleep(uint32_t seen, Clock::time_point deadline) {
    timespec left{}, *timeout = nullptr;
    if (deadline != Clock::time_point::max()) {
      auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
      if (ns <= 0) return;
      left.tv_sec = ns / 1000000000;
      left.tv_nsec = ns % 1000000000;
      timeout = &left;
    }
    Threads::sleep(epoch_, seen, timeout); // the caller checks again
  }

  typename Threads::template Atomic<uint32_t> epoch_{0}, sleepers_{0};
};

using Gate = BasicGate<SystemThreads>;

} // namespace tessera::cpu
