// Values that are made at their first use.
#pragma once
#include <atomic>
#include <memory>

namespace tessera {

/// In place of a function's static object, whose initialiser a fork may leave unfinished in the child: no
/// caller waits for another one, so callers at the same time may each make the value, and one of them is
/// kept. It is never destroyed. Thread-safe.
template <class T> class MadeOnce {
public:
  template <class Make> const T &get(Make make) {
    if (const T *value = value_.load(std::memory_order_acquire)) return *value;
    auto made = std::make_unique<const T>(make());
    const T *kept = nullptr;
    return value_.compare_exchange_strong(kept, made.get(), std::memory_order_acq_rel) ? *made.release()
                                                                                       : *kept;
  }

private:
  std::atomic<const T *> value_{nullptr};
};

} // namespace tessera
