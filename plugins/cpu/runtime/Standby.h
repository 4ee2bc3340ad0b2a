// Helpers that have just finished stay for a moment to be called again. Waking a thread takes 25 µs on a
// virtual machine, more than half of the work of many launches; calling one that looks takes less than 1 µs.
#pragma once
#include "plugins/cpu/runtime/Gate.h"
#include <array>
#include <optional>
#include <utility>

namespace tessera::cpu {

/// Where helpers wait to be given `Work`. Thread-safe.
template <class Work> class Standby {
public:
  /// Gives `work` to a helper that waits. Returns false, and leaves `work` as it is, if none does.
  bool call(Work &work) {
    if (waiting_.load(std::memory_order_relaxed) == 0) return false;
    for (Seat &seat : seats_) {
      auto state = State::Waits;
      if (!seat.state.compare_exchange_strong(state, State::IsBeingCalled, std::memory_order_acquire))
        continue;
      seat.work = std::move(work);
      seat.state.store(State::IsCalled, std::memory_order_release);
      return true;
    }
    return false;
  }

  /// Waits to be called for at most `time` and while `mayStay()` returns true; not at all on a core that is
  /// shared, or if there is no seat.
  template <class Predicate> std::optional<Work> wait(std::chrono::nanoseconds time, Predicate mayStay) {
    for (Seat &seat : seats_) {
      auto state = State::IsFree;
      if (!seat.state.compare_exchange_strong(state, State::Waits, std::memory_order_relaxed)) continue;
      waiting_.fetch_add(1, std::memory_order_relaxed);
      const auto isCalled = [&] { return seat.state.load(std::memory_order_acquire) == State::IsCalled; };
      spinUntil([&] { return isCalled() || !mayStay(); }, time);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      state = State::Waits;
      if (seat.state.compare_exchange_strong(state, State::IsFree, std::memory_order_relaxed)) return {};
      while (!isCalled()) // the caller has begun
        spinPause();
      std::optional<Work> work(std::move(seat.work));
      seat.state.store(State::IsFree, std::memory_order_release);
      return work;
    }
    return {};
  }

private:
  enum class State : uint8_t { IsFree, Waits, IsBeingCalled, IsCalled };
  struct alignas(64) Seat {
    std::atomic<State> state{State::IsFree};
    Work work{}; // belongs to the caller while IsBeingCalled, and to the helper while IsCalled
  };
  std::array<Seat, 64> seats_;
  std::atomic<int> waiting_{0};
};

} // namespace tessera::cpu
