// The mutexes that the fork handlers of a library lock: see Fork.h.
#pragma once
#include "core/support/Fork.h"
#include <vector>

namespace tessera {

class ForkState final : public ForkMutexes {
public:
  static ForkState &ofLibrary();
  static std::atomic<uint64_t> forks;

  void add(const HeldAcrossFork &) override;
  void remove(const HeldAcrossFork &) override;
  void join(ForkMutexes &host);

  /// Locks all mutexes, or none. They have no lock order, since plugin code that runs under one of them may
  /// lock any other: the caller tries again.
  bool tryLock();
  void unlock();
  void unlockInChild();

private:
  std::mutex mutex_; // guards the members below; also held across a fork
  std::vector<const HeldAcrossFork *> held_;
  ForkMutexes *host_ = nullptr;
};

} // namespace tessera
