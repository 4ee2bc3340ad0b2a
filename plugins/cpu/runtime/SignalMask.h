// Threads that start while a SignalMask exists do not receive signals sent to the process, which are for the
// program's own threads. Signals raised by a fault, and a profiler's, stay enabled. It is a copy of core's
// class, because plugins do not include core.
#pragma once
#include <csignal>

namespace tessera::cpu {

class SignalMask {
public:
  /// Set by a thread that was started under a SignalMask and keeps the mask: masking again would cost two
  /// system calls and change nothing.
  static inline thread_local bool isInherited = false;

  SignalMask() {
    if (isInherited) return;
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalMask() {
    if (!isInherited) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalMask(const SignalMask &) = delete;
  SignalMask &operator=(const SignalMask &) = delete;

private:
  sigset_t before_;
};

} // namespace tessera::cpu
