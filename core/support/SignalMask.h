// Blocks the signals that are meant for the process while an object of this class lives. Threads started
// meanwhile inherit the mask, so that the program's own threads receive these signals. Signals raised by
// faults, and a profiler's, stay enabled.
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
