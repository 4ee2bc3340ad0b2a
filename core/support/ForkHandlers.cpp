#include "core/support/ForkState.h"
#include <pthread.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr useconds_t kPauseUs = 50;

void beforeFork() {
  while (!ForkState::ofLibrary().tryLock())
    usleep(kPauseUs);
}

void inParent() { ForkState::ofLibrary().unlock(); }

void inChild() {
  ForkState::forks.fetch_add(1, std::memory_order_relaxed);
  ForkState::ofLibrary().unlockInChild();
}

// Registered when the library is loaded, since a fork may precede every other call.
[[maybe_unused]] const int registered = pthread_atfork(beforeFork, inParent, inChild);

} // namespace
} // namespace tessera
