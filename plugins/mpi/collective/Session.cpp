#include "plugins/mpi/collective/Session.h"

namespace tessera::mpi {

std::string mpiError(const char *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return std::string(call) + ": " + std::string(text, static_cast<size_t>(length));
}

Session &Session::get() {
  static Session &s = *new Session; // never destroyed: other threads may be inside when the process ends
  return s;
}

tsr_status_t Session::begin(const Deadline &deadline, std::string &why) {
  std::lock_guard lock(mutex_);
  if (begun_) return TSR_SUCCESS;
  int there = 0, over = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&there);
  MPI_Finalized(&over);
  if (over) {
    why = "MPI has been finalised in this process";
    return TSR_EINVAL;
  }
  if (there) {
    MPI_Query_thread(&level);
  } else {
    if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level)) {
      why = mpiError("MPI_Init_thread", code);
      return TSR_EDEVICE;
    }
    ours_ = true;
  }
  if (level < MPI_THREAD_SERIALIZED) {
    why = std::string("MPI was initialised ") + (there ? "by the program " : "") +
          "without MPI_THREAD_SERIALIZED: it takes no calls from several threads";
    return TSR_EINVAL;
  }
  int code = meeting_ == MPI_REQUEST_NULL ? MPI_Comm_idup(MPI_COMM_WORLD, &world_, &meeting_) : MPI_SUCCESS;
  for (int done = 0; !code && !(code = MPI_Test(&meeting_, &done, MPI_STATUS_IGNORE)) && !done;) {
    if (deadline.isOver()) {
      why = "not all ranks of the launcher came within " + collective::duration(deadline.total());
      return TSR_ETIMEOUT;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (!code) code = MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  if (!code) code = MPI_Comm_rank(world_, &rank_);
  if (!code) code = MPI_Comm_size(world_, &size_);
  if (code) {
    why = mpiError("MPI_Comm_idup", code);
    return TSR_EDEVICE;
  }
  begun_ = true;
  return TSR_SUCCESS;
}

void Session::end() {
  std::lock_guard lock(mutex_);
  int over = 0;
  MPI_Finalized(&over);
  if (ours_ && !over) MPI_Finalize();
  ours_ = begun_ = false;
}

tsr_status_t Session::wait(const Deadline &deadline, MPI_Request &request, const char *call,
                           std::string &why) {
  int code = MPI_SUCCESS;
  const tsr_status_t status = wait(deadline, [&] {
    int done = 0;
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return code ? Poll::Failed : done ? Poll::Done : Poll::Again;
  });
  if (status == TSR_EDEVICE) why = mpiError(call, code);
  return status;
}

} // namespace tessera::mpi
