// How the ranks agree, before each call, that they all make it.
//
// Round 1: every rank sends its call to every other and compares what comes; who does not come in time is
// named. Round 2: who has seen all calls, and found them equal, says so to all. A rank begins to move data
// when all have said so. Nobody gives up after its round 2, and who gives up before tells all, so either
// every rank moves data or none does: no buffer is touched after its call has failed.
#pragma once
#include "plugins/mpi/collective/Session.h"
#include <memory>
#include <vector>

namespace tessera::mpi {

struct Message {
  collective::Signature signature;
  char where[232] = ""; // place of the call, id of a communicator to be, or why a rank has given up
};

/// The agreements of one communicator, one at a time.
class Agreement {
public:
  /// Uses tags `tag` to tag + 2 of `comm`. `describe` puts a message into words.
  Agreement(MPI_Comm comm, int rank, int size, int tag, std::string (*describe)(const Message &));
  ~Agreement();
  Agreement(const Agreement &) = delete;
  /// TSR_EINVAL: a rank's message differs; TSR_ETIMEOUT: who is missing, or who has given up and why.
  /// After a failure there are no more.
  tsr_status_t reach(const Message &mine, const Deadline &deadline, std::string &why);

private:
  struct Traffic; // of one round
  enum { kCall = 0, kCommit = 1, kGaveUp = 2 };
  tsr_status_t round(int tag, const Message &mine, const Deadline &deadline, std::string &why);
  bool someoneGaveUp(std::string &why);
  void giveUp(const std::string &why);

  const MPI_Comm comm_;
  const int rank_, size_, tag_;
  std::string (*const describe_)(const Message &);
  std::unique_ptr<Traffic> traffic_;
};

} // namespace tessera::mpi
