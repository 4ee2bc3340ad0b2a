// Calls of the library that take long, in threads of their own, so that Ctrl-C ends the wait for them.
#pragma once
#include "python/core/Core.h"
#include <functional>

namespace tessera::python {

/// How long a wait goes on before it looks for signals.
constexpr uint64_t kPollNs = 50'000'000;

/// Runs `work` in a thread of its own, and waits for it without the GIL; at each look for signals it calls
/// `meanwhile`, which returns false after raising. Returns false with that exception, or with the one of a
/// signal's handler; `work` then goes on, and must own all that it uses. It may not take the GIL.
bool runInterruptibly(std::function<void()> work, const std::function<bool()> &meanwhile = {});

/// Waits until no thread works that runInterruptibly() left behind, at most for `limitNs`. Returns false with
/// the exception of a signal's handler.
bool endInBackground(uint64_t limitNs);
bool isInBackground();
/// In the child of a fork, which has none of those threads.
void forgetBackground();

} // namespace tessera::python
