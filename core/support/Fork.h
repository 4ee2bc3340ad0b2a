// What a fork must leave usable in its child: the process's own mutexes, and the knowledge that what the
// parent made is out of reach.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

namespace tessera {

/// How many forks lie between this process and the one that loaded the library. What was made under another
/// count belongs to a parent process: its threads do not exist here, and they may have held its locks.
uint64_t forkCount();

/// Keeps a mutex of the process usable in the child of a fork: fork() waits until it holds the mutex, so that
/// no other thread does and what it guards is whole. The mutex must outlive this. No code of the program may
/// run under it, unless it is recursive: such code may fork.
class HeldAcrossFork {
public:
  template <class Mutex> explicit HeldAcrossFork(Mutex &mutex) : mutex_(&mutex) {
    tryLock_ = [](void *m) { return static_cast<Mutex *>(m)->try_lock(); };
    unlock_ = [](void *m) { static_cast<Mutex *>(m)->unlock(); };
    // A recursive mutex knows its owner by the thread's number, which is another one in the child.
    if constexpr (std::is_same_v<Mutex, std::recursive_mutex>)
      unlockInChild_ = [](void *m) { new (m) Mutex; };
    else
      unlockInChild_ = unlock_;
    enter();
  }
  ~HeldAcrossFork();
  HeldAcrossFork(const HeldAcrossFork &) = delete;
  HeldAcrossFork &operator=(const HeldAcrossFork &) = delete;

  bool tryLock() const { return tryLock_(mutex_); }
  void unlock() const { unlock_(mutex_); }
  void unlockInChild() const { unlockInChild_(mutex_); }

private:
  void enter();
  void *mutex_;
  bool (*tryLock_)(void *);
  void (*unlock_)(void *);
  void (*unlockInChild_)(void *);
};

} // namespace tessera
