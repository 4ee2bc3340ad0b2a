// MPI as this process has it: begun at most once, entered by one thread at a time (MPI_THREAD_SERIALIZED is
// all that is asked of it), waited for with polls, since a blocking call could be left by no deadline.
#pragma once
#include <chrono>
#include <functional>
#include <mpi.h>
#include <mutex>
#include <string>
#include <tessera/collective.hpp>
#include <thread>

namespace tessera::mpi {

/// Counts from its making.
class Deadline {
public:
  explicit Deadline(uint64_t ns) : ns_(ns) {}
  bool isOver() const {
    return ns_ != UINT64_MAX &&
           std::chrono::steady_clock::now() - start_ >=
               std::chrono::nanoseconds(static_cast<int64_t>(std::min<uint64_t>(ns_, INT64_MAX)));
  }
  uint64_t total() const { return ns_; }

private:
  const uint64_t ns_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "MPI_Iallreduce: <what MPI calls the error>"
std::string mpiError(const char *call, int code);

/// One for the process.
class Session {
public:
  static Session &get();

  /// Initialises MPI unless the host has, and meets the launcher's other ranks. TSR_EINVAL: the host's MPI
  /// takes no calls from several threads; TSR_ETIMEOUT: not all have come, who may be waited for again.
  tsr_status_t begin(const Deadline &deadline, std::string &why);
  /// Finalises MPI if begin() initialised it.
  void end();

  /// Calls body() with MPI to itself.
  template <class Body> auto locked(Body body) {
    std::lock_guard lock(mutex_);
    return body();
  }

  enum class Poll { Again, Done, Failed };
  /// Repeats step(), which has MPI to itself, until it is done, fails or, if it may, runs out of time. Turns
  /// quickly at first, then sleeps between turns, longer and longer.
  template <class Step> tsr_status_t wait(const Deadline &deadline, Step step) {
    constexpr int eager = 2000;
    auto pause = std::chrono::microseconds(5);
    for (int turn = 0;; ++turn) {
      const Poll p = locked(step);
      if (p == Poll::Done) return TSR_SUCCESS;
      if (p == Poll::Failed) return TSR_EDEVICE;
      if (turn < eager) {
        if (turn % 16 == 15) std::this_thread::yield();
        continue;
      }
      if (deadline.isOver()) return TSR_ETIMEOUT;
      std::this_thread::sleep_for(pause);
      if (pause < std::chrono::microseconds(200)) pause *= 2;
    }
  }
  /// The same for a request.
  tsr_status_t wait(const Deadline &deadline, MPI_Request &request, const char *call, std::string &why);

  /// A duplicate of MPI_COMM_WORLD that nobody else uses; valid after begin().
  MPI_Comm world() const { return world_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Communicators come into being one after another.
  std::mutex creating;

private:
  std::mutex mutex_;
  bool begun_ = false, ours_ = false;
  MPI_Request meeting_ = MPI_REQUEST_NULL; // makes world_
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

} // namespace tessera::mpi
