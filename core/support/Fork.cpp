#include "core/support/Fork.h"
#include "core/support/ForkState.h"
#include <algorithm>

namespace tessera {

std::atomic<uint64_t> ForkState::forks{0};

ForkState &ForkState::ofLibrary() {
  static ForkState &s = *new ForkState; // never destroyed: a fork may happen until the process ends
  return s;
}

void ForkState::add(const HeldAcrossFork &held) {
  std::lock_guard lock(mutex_);
  if (host_)
    host_->add(held);
  else
    held_.push_back(&held);
}

void ForkState::remove(const HeldAcrossFork &held) {
  std::lock_guard lock(mutex_);
  if (host_)
    host_->remove(held);
  else
    std::erase(held_, &held);
}

void ForkState::join(ForkMutexes &host) {
  if (&host == this) return;
  std::lock_guard lock(mutex_);
  if (host_) return;
  host_ = &host;
  for (const HeldAcrossFork *held : held_)
    host.add(*held);
  held_.clear();
}

bool ForkState::tryLock() {
  mutex_.lock();
  size_t locked = 0;
  while (locked < held_.size() && held_[locked]->tryLock())
    ++locked;
  if (locked == held_.size()) return true;
  while (locked > 0)
    held_[--locked]->unlock();
  mutex_.unlock(); // the holder of one of the mutexes may be waiting in add()
  return false;
}

void ForkState::unlock() {
  for (const HeldAcrossFork *held : held_)
    held->unlock();
  mutex_.unlock();
}

void ForkState::unlockInChild() {
  for (const HeldAcrossFork *held : held_)
    held->unlockInChild();
  mutex_.unlock();
}

uint64_t forkCount() { return ForkState::forks.load(std::memory_order_relaxed); }

ForkMutexes &forkMutexes() { return ForkState::ofLibrary(); }

void joinForkMutexes(ForkMutexes &host) { ForkState::ofLibrary().join(host); }

void HeldAcrossFork::enter() { forkMutexes().add(*this); }

HeldAcrossFork::~HeldAcrossFork() { forkMutexes().remove(*this); }

} // namespace tessera
