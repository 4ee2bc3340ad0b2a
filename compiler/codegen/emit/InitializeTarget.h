// Initialises LLVM's target libraries when the first kernel for the target is compiled.
#pragma once
#include <mutex>

namespace tessera::emit {

/// Calls LLVM's initialisers of one target, once per process, so that other compilations do not pay for them.
/// Thread-safe.
template <void (*...Initializers)()> void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] { (Initializers(), ...); });
}

} // namespace tessera::emit
