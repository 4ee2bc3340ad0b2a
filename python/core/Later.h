// What the library frees only when queued work is done. Python frees objects anywhere, also while Ctrl-C's
// exception unwinds the stack, so that must not wait: it happens later.
#pragma once
#include "python/core/Core.h"
#include <functional>

namespace tessera::python {

/// Calls `end`, without the GIL: now if the context is idle, else when it is. `bytes`: what that frees.
/// `stream`: one that `end` destroys.
void endLater(Context &, int64_t bytes, std::function<void()> end, tsr_stream_t stream = nullptr);
/// Calls what waits for idle contexts. Waits for the context itself if that is too much. False after raising.
bool makeRoom(Context &);
/// In the child of a fork: what is the parent's is leaked.
void forgetLater();

} // namespace tessera::python
