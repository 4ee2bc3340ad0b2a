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
  std::mutex mutex; // guards the members below; also held across a fork
  std::vector<const HeldAcrossFork *> held;
};

State &state() {
  static State &s = *new State; // never destroyed: a fork may happen until the process ends
  return s;
}

/// Retries until it holds all mutexes. They have no lock order, since plugin code that runs under one of them
/// may lock any other.
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
    s.mutex.unlock(); // the holder of one of the mutexes may be waiting in enter()
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

// Registered when the library is loaded, since a fork may precede every other call.
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
