#include "core/support/Fork.h"
#include <algorithm>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace tessera {
namespace {

constexpr useconds_t kPauseUs = 50;

std::atomic<uint64_t> forks{0};

struct State {
  std::mutex mutex; // guards what follows, and is held across a fork itself
  std::vector<const HeldAcrossFork *> held;
};

State &state() {
  static State &s = *new State; // processes fork until they end
  return s;
}

/// Tries to take all of them until it has: they have no order in which they could be waited for, since the
/// code of a plugin that runs under one may come to any other.
void beforeFork() {
  State &s = state();
  for (;;) {
    s.mutex.lock();
    size_t locked = 0;
    while (locked < s.held.size() && s.held[locked]->tryLock())
      ++locked;
    if (locked == s.held.size()) return;
    while (locked > 0)
      s.held[--locked]->unlock();
    s.mutex.unlock(); // a thread that holds one of them may want to enter another
    usleep(kPauseUs);
  }
}

void inParent() {
  State &s = state();
  for (const HeldAcrossFork *mutex : s.held)
    mutex->unlock();
  s.mutex.unlock();
}

void inChild() {
  forks.fetch_add(1, std::memory_order_relaxed);
  State &s = state();
  for (const HeldAcrossFork *mutex : s.held)
    mutex->unlockInChild();
  s.mutex.unlock();
}

// When the library is loaded: a fork may be the first thing that happens.
[[maybe_unused]] const int registered = pthread_atfork(beforeFork, inParent, inChild);

} // namespace

uint64_t forkCount() { return forks.load(std::memory_order_relaxed); }

void HeldAcrossFork::enter() {
  State &s = state();
  std::lock_guard lock(s.mutex);
  s.held.push_back(this);
}

HeldAcrossFork::~HeldAcrossFork() {
  State &s = state();
  std::lock_guard lock(s.mutex);
  std::erase(s.held, this);
}

} // namespace tessera
