// Calls of the library that take long, in threads of their own, so that Ctrl-C ends the wait for them.
#pragma once
#include "python/core/Core.h"
#include <functional>

namespace tessera::python {

/// How long a wait goes on before it looks for signals.
constexpr uint64_t kPollNs = 50'000'000;

/// Runs `work` in a thread of its own, and waits for it without the GIL. Returns false with the exception of
/// a signal's handler; `work` then goes on, and must own all that it uses. It may not take the GIL.
bool runInterruptibly(std::function<void()> work);

} // namespace tessera::python
