#include "plugins/mpi/collective/Agreement.h"
#include <cstring>

namespace tessera::mpi {

struct Agreement::Traffic {
  explicit Traffic(size_t size) : arrived(size), requests(2 * size, MPI_REQUEST_NULL) {}
  Message mine, given;
  std::vector<Message> arrived;      // by rank
  std::vector<MPI_Request> requests; // receives by rank, then sends
  bool abandoned = false;            // MPI may still read and write these messages
};

Agreement::Agreement(MPI_Comm comm, int rank, int size, int tag, std::string (*describe)(const Message &),
                     const AbortRequest &abort)
    : comm_(comm), rank_(rank), size_(size), tag_(tag), describe_(describe), abort_(abort),
      traffic_(std::make_unique<Traffic>(static_cast<size_t>(size))) {}

Agreement::~Agreement() {
  if (traffic_->abandoned) (void)traffic_.release();
}

tsr_status_t Agreement::reach(const Message &mine, const Deadline &deadline, std::string &why) {
  const Deadline never(UINT64_MAX);
  tsr_status_t status = round(kCall, mine, deadline, why);
  if (status) {
    giveUp(status, why);
    return status;
  }
  status = round(kCommit, mine, never, why);
  if (status) traffic_->abandoned = true;
  return status;
}

tsr_status_t Agreement::round(int tag, const Message &mine, const Deadline &deadline, std::string &why) {
  Traffic &t = *traffic_;
  Session &session = Session::get();
  const auto size = static_cast<size_t>(size_);
  t.mine = mine;
  int code = session.locked([&] {
    int first = MPI_SUCCESS;
    for (int peer = 0; peer < size_ && !first; ++peer) {
      if (peer == rank_) continue;
      const auto p = static_cast<size_t>(peer);
      first = MPI_Irecv(&t.arrived[p], sizeof(Message), MPI_BYTE, peer, tag_ + tag, comm_, &t.requests[p]);
      if (!first)
        first = MPI_Isend(&t.mine, sizeof(Message), MPI_BYTE, peer, tag_ + tag, comm_, &t.requests[size + p]);
    }
    return first;
  });
  if (code) {
    why = mpiError("MPI_Isend", code);
    return TSR_EDEVICE;
  }
  std::vector<int> missing;
  int turn = 0;
  collective::Outcome ended; // by a rank that gave up or aborted
  tsr_status_t status = session.wait(deadline, [&] {
    missing.clear();
    bool sent = true;
    for (size_t r = 0; r < t.requests.size(); ++r) {
      int done = 1;
      if (t.requests[r] != MPI_REQUEST_NULL) code = MPI_Test(&t.requests[r], &done, MPI_STATUS_IGNORE);
      if (code) return Session::Poll::Failed;
      if (!done && r < size) missing.push_back(static_cast<int>(r));
      if (!done && r >= size) sent = false;
    }
    if (tag == kCall)
      for (size_t r = 0; r < size; ++r)
        if (r != static_cast<size_t>(rank_) && t.requests[r] == MPI_REQUEST_NULL &&
            !(t.arrived[r].signature == mine.signature)) {
          why = collective::mismatch(rank_, describe_(mine), static_cast<int>(r), describe_(t.arrived[r]));
          return Session::Poll::Failed;
        }
    if (missing.empty() && sent) return Session::Poll::Done;
    if (tag == kCall) ended = own();
    if (!ended.failed() && ++turn % 64 == 0) ended = others();
    return ended.failed() ? Session::Poll::Failed : Session::Poll::Again;
  });
  if (status == TSR_ETIMEOUT)
    why = describe_(mine) + ": " + (missing.empty() ? "no rank" : collective::list(missing)) +
          " did not come within " + collective::duration(deadline.total());
  if (status != TSR_EDEVICE) return status;
  if (code) why = mpiError("MPI_Test", code);
  if (ended.failed()) return ended.moveTo(why);
  return code ? TSR_EDEVICE : TSR_EINVAL;
}

collective::Outcome Agreement::own() const {
  if (!abort_.isAsked()) return {};
  return {TSR_EDEVICE, collective::list({rank_}) + " has aborted: " + abort_.reason()};
}

collective::Outcome Agreement::others() {
  int there = 0;
  MPI_Status from;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag_ + kGaveUp, comm_, &there, &from) || !there) return {};
  Message m;
  if (MPI_Recv(&m, sizeof m, MPI_BYTE, from.MPI_SOURCE, tag_ + kGaveUp, comm_, MPI_STATUS_IGNORE)) return {};
  m.where[sizeof m.where - 1] = 0;
  return {static_cast<tsr_status_t>(m.signature.sequence),
          collective::list({from.MPI_SOURCE}) + " has given up: " + m.where};
}

void Agreement::giveUp(tsr_status_t status, const std::string &why) {
  Traffic &t = *traffic_;
  t.abandoned = true;
  t.given.signature.sequence = static_cast<uint64_t>(status);
  std::strncpy(t.given.where, why.c_str(), sizeof t.given.where - 1);
  Session::get().locked([&] {
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      MPI_Request request; // never waited for: the message stays valid
      if (!MPI_Isend(&t.given, sizeof t.given, MPI_BYTE, peer, tag_ + kGaveUp, comm_, &request))
        MPI_Request_free(&request);
    }
  });
}

} // namespace tessera::mpi
