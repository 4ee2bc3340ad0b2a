// Threads that start while one of these lives take no signals meant for the process: those are for the
// program's own threads. Signals that a fault raises, and a profiler's, stay.
#pragma once
#include <csignal>

namespace tessera {

class SignalMask {
public:
  SignalMask() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalMask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalMask(const SignalMask &) = delete;
  SignalMask &operator=(const SignalMask &) = delete;

private:
  sigset_t before_;
};

} // namespace tessera
