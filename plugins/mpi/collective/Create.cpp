// How a communicator is created: the ranks agree on its id, then MPI makes it.
#include "plugins/mpi/collective/MpiCommunicator.h"
#include <cstring>

namespace tessera::mpi {
namespace {

std::string describeMeeting(const Message &m) {
  return "for communicator '" + std::string(m.where, strnlen(m.where, sizeof m.where)) + "', its number " +
         std::to_string(m.signature.sequence);
}

/// FNV-1a. Ranks compare the hash instead of the id.
uint64_t hashOf(const char *text) {
  uint64_t h = 14695981039346656037ull;
  for (; *text; ++text)
    h = (h ^ static_cast<unsigned char>(*text)) * 1099511628211ull;
  return h;
}

struct Meetings {
  const AbortRequest never;
  std::unique_ptr<Agreement> agreement;
  uint64_t count = 0;
  tsr_status_t broken = TSR_SUCCESS;
  std::string since;
};

} // namespace

std::unique_ptr<Communicator> createMpi(const tsr_cl_options_t &o, tsr_status_t &status, std::string &why) {
  static Meetings &meetings = *new Meetings; // guarded by Session::creating
  const Deadline deadline(o.timeout_ns);
  Session &session = Session::get();
  if ((status = session.begin(deadline, why))) return nullptr;
  auto refuse = [&](const char *what, int32_t found, int launched) {
    status = TSR_EINVAL;
    why = std::string(what) + ": the options say " + std::to_string(found) + ", the launcher " +
          std::to_string(launched) + "; -1 takes the launcher's";
    return nullptr;
  };
  if (o.rank != -1 && o.rank != session.rank()) return refuse("rank", o.rank, session.rank());
  if (o.size != -1 && o.size != session.size()) return refuse("size", o.size, session.size());
  std::lock_guard lock(session.creating);
  const char *id = o.id ? o.id : "";
  if ((status = meetings.broken)) {
    why = "communicator '" + std::string(id) + "': the ranks do not meet any more since " + meetings.since;
    return nullptr;
  }
  if (!meetings.agreement)
    meetings.agreement = std::make_unique<Agreement>(session.world(), session.rank(), session.size(), 0,
                                                     describeMeeting, meetings.never);
  Message m;
  m.signature.sequence = meetings.count++;
  m.signature.count = hashOf(id);
  std::strncpy(m.where, id, sizeof m.where - 1);
  status = meetings.agreement->reach(m, deadline, why);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  if (!status) {
    const int code = session.locked([&] { return MPI_Comm_idup(session.world(), &comm, &request); });
    if (code) {
      status = TSR_EDEVICE;
      why = mpiError("MPI_Comm_idup", code);
    } else {
      status = session.wait(Deadline(UINT64_MAX), request, "MPI_Comm_idup", why);
    }
  }
  if (status) {
    meetings.broken = status;
    meetings.since = why;
    return nullptr;
  }
  session.locked([&] { return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); });
  return std::make_unique<MpiCommunicator>(comm, id, o.timeout_ns);
}

} // namespace tessera::mpi
