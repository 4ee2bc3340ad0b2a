// MPI in this process: initialised at most once, entered by one thread at a time (only MPI_THREAD_SERIALIZED
// is required), and polled, because a deadline could not end a blocking call.
#pragma once
#include <chrono>
#include <functional>
#include <mpi.h>
#include <mutex>
#include <string>
#include <tessera/collective.hpp>
#include <thread>

namespace tessera::mpi {

/// Counts from its construction.
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

/// Returns "MPI_Iallreduce: <MPI's text for the error>".
std::string mpiError(const char *call, int code);

/// One per process.
class Session {
public:
  static Session &get();

  /// Initialises MPI unless the host has done so, and meets the launcher's other ranks. TSR_EINVAL: the
  /// host's MPI does not accept calls from several threads. TSR_ETIMEOUT: not all ranks have come; the call
  /// may be repeated.
  tsr_status_t begin(const Deadline &deadline, std::string &why);
  /// Finalises MPI if begin() initialised it.
  void end();

  /// Calls body() while no other thread uses MPI.
  template <class Body> auto locked(Body body) {
    std::lock_guard lock(mutex_);
    return body();
  }

  enum class Poll { Again, Done, Failed };
  /// Repeats step(), during which no other thread uses MPI, until it is done, fails, or the deadline has
  /// passed. Repeats quickly at first, then sleeps for longer and longer times in between.
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
  /// The same for an MPI request.
  tsr_status_t wait(const Deadline &deadline, MPI_Request &request, const char *call, std::string &why);

  /// Returns a duplicate of MPI_COMM_WORLD that nothing else uses; valid after begin().
  MPI_Comm world() const { return world_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Held while a communicator is created: one at a time.
  std::mutex creating;

private:
  std::mutex mutex_;
  bool begun_ = false, ours_ = false;
  MPI_Request meeting_ = MPI_REQUEST_NULL; // creates world_
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

} // namespace tessera::mpi
