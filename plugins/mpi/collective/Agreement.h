// Before each call, the ranks agree that all of them make it.
//
// Round 1: every rank sends its call to every other rank and compares the calls it receives. If a rank is
// late, the error names it. Round 2: a rank that has seen all calls, and found them equal, confirms this to
// all. A rank begins to move data when all have confirmed. No rank gives up after its round 2, and a rank
// that gives up earlier notifies all others. So either every rank moves data or none does: no buffer is
// accessed after its call has failed.
#pragma once
#include "plugins/mpi/collective/Session.h"
#include <atomic>
#include <memory>
#include <vector>

namespace tessera::mpi {

struct Message {
  collective::Signature signature;
  char where[232] = ""; // place of the call, id of a communicator being created, or why a rank has given up
};

/// That this rank's program wants to end its communicator. Thread-safe.
class AbortRequest {
public:
  void ask(const std::string &reason) {
    std::lock_guard lock(mutex_);
    if (asked_) return;
    reason_ = reason;
    asked_.store(true, std::memory_order_release);
  }
  bool isAsked() const { return asked_.load(std::memory_order_acquire); }
  std::string reason() const {
    std::lock_guard lock(mutex_);
    return reason_;
  }

private:
  std::atomic<bool> asked_{false};
  mutable std::mutex mutex_; // guards `reason_`
  std::string reason_;
};

/// Makes the agreements of one communicator, one at a time.
class Agreement {
public:
  /// Uses tags `tag` to tag + 2 of `comm`. `describe` formats a message as text. An abort ends round 1.
  Agreement(MPI_Comm comm, int rank, int size, int tag, std::string (*describe)(const Message &),
            const AbortRequest &abort);
  ~Agreement();
  Agreement(const Agreement &) = delete;
  /// Returns TSR_EINVAL if a rank's message differs, TSR_ETIMEOUT if a rank is missing, TSR_EDEVICE if one
  /// has aborted, and the status of a rank that has given up; `why` names the rank and the reason. Must not
  /// be called again after a failure.
  tsr_status_t reach(const Message &mine, const Deadline &deadline, std::string &why);
  /// Notifies the other ranks, between calls, that this rank takes no further part.
  void giveUp(tsr_status_t status, const std::string &why);
  /// Returns how another rank has given up, or a success if none has. The caller holds MPI's lock.
  collective::Outcome others();
  /// Returns TSR_EDEVICE if this rank's program has asked for an abort.
  collective::Outcome own() const;

private:
  struct Traffic; // the messages of one round
  enum { kCall = 0, kCommit = 1, kGaveUp = 2 };
  tsr_status_t round(int tag, const Message &mine, const Deadline &deadline, std::string &why);

  const MPI_Comm comm_;
  const int rank_, size_, tag_;
  std::string (*const describe_)(const Message &);
  const AbortRequest &abort_;
  std::unique_ptr<Traffic> traffic_;
};

} // namespace tessera::mpi
