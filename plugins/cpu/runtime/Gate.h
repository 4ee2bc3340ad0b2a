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

/// An eventcount. The waker changes the condition with a seq_cst store, then calls notify(); the waiter's
/// predicate reads it with seq_cst loads. In the single order of those operations either the waker sees the
/// sleeper, or the sleeper's last check sees the change: no wake-up is lost, and notify() costs one load when
/// nobody sleeps.
class Gate {
public:
  using Clock = std::chrono::steady_clock;

  /// Waits until `done()` returns true. Returns false if `deadline` passes first.
  template <class Predicate>
  bool wait(Predicate done, std::chrono::nanoseconds spin,
            Clock::time_point deadline = Clock::time_point::max()) {
    if (done()) return true;
    if (spin.count() > 0) {
      for (auto end = std::min(Clock::now() + spin, deadline); Clock::now() < end;)
        for (int i = 0; i < 16; ++i) {
          if (done()) return true;
          spinPause();
        }
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool result;
    for (;;) {
      uint32_t seen = epoch_.load(std::memory_order_seq_cst);
      if ((result = done()) || Clock::now() >= deadline) break;
      sleep(seen, deadline);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return result;
  }

  void notify() {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

private:
  void sleep(uint32_t seen, Clock::time_point deadline) {
    timespec left{}, *timeout = nullptr;
    if (deadline != Clock::time_point::max()) {
      auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
      if (ns <= 0) return;
      left.tv_sec = ns / 1000000000;
      left.tv_nsec = ns % 1000000000;
      timeout = &left;
    }
    // Returns immediately if the epoch has changed. After signals and spurious wake-ups the caller checks
    // again.
    syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, seen, timeout, nullptr, 0);
  }

  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the futex word");
  std::atomic<uint32_t> epoch_{0}, sleepers_{0};
};

} // namespace tessera::cpu
