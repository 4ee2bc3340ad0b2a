// Support for fork(): keeps the library's mutexes usable in the child, and lets the child detect objects of
// its parent.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

namespace tessera {

class HeldAcrossFork;

/// Returns the number of forks between the process that loaded the library and this one. An object created
/// under another count belongs to a parent process: its threads do not exist here, and they may have held its
/// locks.
uint64_t forkCount();

/// The mutexes that fork() locks. A library that holds mutexes of its own and is opened by another one, as
/// the compiler is, hands them to the other's set: two fork handlers, each with its own set, would wait for
/// each other's holders. Thread-safe.
class ForkMutexes {
public:
  virtual void add(const HeldAcrossFork &) = 0;
  virtual void remove(const HeldAcrossFork &) = 0;

protected:
  ~ForkMutexes() = default;
};

/// Returns the set of the library that contains this copy of the file. A fork locks it if ForkHandlers.cpp is
/// linked in as well.
ForkMutexes &forkMutexes();

/// Hands what this library's set holds now and later to `host`, which must live as long as the process. Only
/// the first call has an effect.
void joinForkMutexes(ForkMutexes &host);

/// Keeps a mutex usable in the child of a fork: fork() waits until it holds the mutex, so that no other
/// thread holds it and the data it guards is consistent. The mutex must outlive this object. No user code may
/// run while the mutex is held unless it is recursive, since such code may fork.
///
/// Make it when the library is loaded, and not in the initialiser of a function's static object where threads
/// may be the first to call the function: a fork that happens meanwhile leaves the initialiser unfinished in
/// the child, where the next call waits for its end.
class HeldAcrossFork {
public:
  template <class Mutex> explicit HeldAcrossFork(Mutex &mutex) : mutex_(&mutex) {
    tryLock_ = [](void *m) { return static_cast<Mutex *>(m)->try_lock(); };
    unlock_ = [](void *m) { static_cast<Mutex *>(m)->unlock(); };
    // A recursive mutex stores its owner's thread id, and the thread has another id in the child.
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
