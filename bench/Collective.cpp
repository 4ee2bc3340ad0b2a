// All-reduce among two threads compared with OpenMPI's among two processes, for f32 sums of 64 B to 64 MB.
// Both sides exist throughout and alternate round by round, so that other load on the machine affects both.
#include "bench/Benchmarks.h"
#include "bench/Machine.h"
#include "bench/Timing.h"
#include <barrier>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <sched.h>
#include <stdexcept>
#include <sys/wait.h>
#include <tessera/tessera.hpp>
#include <thread>
#include <unistd.h>

namespace tessera::bench {
namespace {

constexpr int kRanks = 2;

/// One side. run() returns the seconds of one call on the slower rank; a negative value means a wrong result.
class Side {
public:
  virtual ~Side() = default;
  virtual double run(size_t count, long calls) = 0;
};

void pinTo(int index) {
  cpu_set_t mine, one;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine) && index-- == 0) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one)) (void)sched_setaffinity(0, sizeof one, &one); // as mpirun binds its ranks
}

/// Threads of this process, which sleep between the rounds.
class Threads final : public Side {
public:
  Threads() {
    for (int rank = 0; rank < kRanks; ++rank)
      threads_.emplace_back([this, rank] { serve(rank); });
  }
  ~Threads() override {
    (void)run(0, 0);
    for (std::thread &t : threads_)
      t.join();
  }
  double run(size_t count, long calls) override {
    count_ = count;
    calls_ = calls;
    gate_.arrive_and_wait();
    if (calls) gate_.arrive_and_wait();
    return wrong_ ? -1 : std::max(seconds_[0], seconds_[1]);
  }

private:
  void serve(int rank) {
    pinTo(rank);
    Comm comm("bench", rank, kRanks);
    std::vector<float> src, dst;
    for (;;) {
      gate_.arrive_and_wait();
      if (!calls_) return;
      if (src.size() != count_) {
        src.assign(count_, 0);
        dst.assign(count_, -1);
        for (size_t i = 0; i < count_; ++i)
          src[i] = float(i % 1000) + float(rank);
      }
      comm.allReduce(src.data(), dst.data(), count_, TSR_REDUCE_SUM);
      for (size_t i = 0; i < count_; ++i)
        if (dst[i] != float(i % 1000) * 2 + 1) wrong_ = true;
      comm.allReduce(src.data(), dst.data(), 1, TSR_REDUCE_SUM); // a barrier
      const auto start = Clock::now();
      for (long i = 0; i < calls_; ++i)
        comm.allReduce(src.data(), dst.data(), count_, TSR_REDUCE_SUM);
      seconds_[rank] = secondsSince(start) / double(calls_);
      gate_.arrive_and_wait();
    }
  }

  std::barrier<> gate_{kRanks + 1};
  std::vector<std::thread> threads_;
  size_t count_ = 0;
  long calls_ = 0;
  double seconds_[kRanks] = {};
  std::atomic<bool> wrong_{false};
};

#ifdef TESSERA_OPENMPI_RUN
/// Processes under mpirun, which receive their orders through pipes.
class OpenMpi final : public Side {
public:
  OpenMpi() {
    int to[2], from[2];
    if (::pipe(to) != 0 || ::pipe(from) != 0) throw std::runtime_error("pipe failed");
    std::signal(SIGPIPE, SIG_IGN);
    char self[4096];
    const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
    const std::string ranks = std::string(self, size_t(n > 0 ? n : 0)) + "-openmpi",
                      number = std::to_string(kRanks);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(to[0], STDIN_FILENO);
      ::dup2(from[1], STDOUT_FILENO);
      for (int fd : {to[0], to[1], from[0], from[1]})
        ::close(fd);
      ::execl(TESSERA_OPENMPI_RUN, "mpirun", "-n", number.c_str(), "--allow-run-as-root", "--bind-to", "core",
              ranks.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = ::fdopen(to[1], "w");
    from_ = ::fdopen(from[0], "r");
  }
  ~OpenMpi() override {
    std::fclose(to_); // ends the processes
    std::fclose(from_);
    ::waitpid(child_, nullptr, 0);
  }
  double run(size_t count, long calls) override {
    fmt::print(to_, "{} {}\n", count, calls);
    std::fflush(to_);
    char line[64];
    double seconds = 0;
    if (!std::fgets(line, sizeof line, from_)) throw std::runtime_error("mpirun ended early");
    return std::sscanf(line, "%lf", &seconds) == 1 ? seconds : -1;
  }

private:
  pid_t child_ = -1;
  FILE *to_ = nullptr, *from_ = nullptr;
};
#endif

std::string bytesText(size_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{} MB", bytes >> 20);
  if (bytes >= 1 << 10) return fmt::format("{} KB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string time(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}

} // namespace

Table benchCollective(const Settings &settings) {
  Table table;
  table.title = fmt::format("All-reduce, f32 sum, {} ranks, {} cores", kRanks, settings.cores);
  table.columns = {"payload", "inprocess", "OpenMPI", "ratio"};
#ifndef TESSERA_OPENMPI_RUN
  table.notes = {"Not measured: this build found no OpenMPI."};
  table.ok = false;
#else
  if (settings.cores < kRanks) {
    table.notes = {"Not measured: fewer cores than ranks."};
    return table;
  }
  constexpr int rounds = 7;
  Threads ours;
  OpenMpi theirs;
  std::vector<double> ratios;
  for (size_t bytes = 64; bytes <= size_t(64) << 20; bytes *= 2) {
    const size_t count = bytes / sizeof(float);
    const long calls = std::max(2l, std::min(5000l, long((size_t(32) << 20) / bytes)));
    std::vector<double> a, b;
    for (int round = 0; round < rounds; ++round) {
      a.push_back(ours.run(count, calls));
      b.push_back(theirs.run(count, calls));
      table.ok = table.ok && a.back() >= 0 && b.back() >= 0;
    }
    const double mine = summarize(a).median, other = summarize(b).median;
    ratios.push_back(other / mine);
    table.rows.push_back({bytesText(bytes), time(mine), time(other), fmt::format("{:.2f}", ratios.back())});
  }
  const Timing of = summarize(ratios);
  table.notes = {
      fmt::format(
          "Time of one call on the slower rank, median of {} rounds in which both sides take turns; threads "
          "and processes are bound to a core each; every result is checked before it is timed.",
          rounds),
      fmt::format("ratio: OpenMPI's time by that of inprocess; the median is {:.2f}, the smallest {:.2f}.",
                  of.median, of.min)};
  if (!table.ok) table.notes.push_back("WRONG RESULTS.");
#endif
  return table;
}

} // namespace tessera::bench
