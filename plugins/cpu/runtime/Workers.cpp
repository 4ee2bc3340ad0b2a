// Why chunks claimed from counters in a task_arena, and not tbb::parallel_for:
// docs/decisions/0001-cpu-launch.md.
#include "plugins/cpu/runtime/Workers.h"
#include "numerics/FloatEnvironment.h"
#include "plugins/cpu/runtime/Gate.h"
#include "plugins/cpu/runtime/Scratch.h"
#include "plugins/cpu/runtime/SignalMask.h"
#include "plugins/cpu/runtime/Topology.h"
#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <tbb/task_arena.h>
#include <type_traits>
#include <vector>

namespace tessera::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChunksPerThread = 8;
/// Work below this is done before a second thread has woken up.
constexpr int64_t kWorthWakingPs = 8'000'000;
constexpr auto kJoinSpin = std::chrono::microseconds(200);

/// Destructors of the program's other thread-local objects may launch kernels after this thread's scratch was
/// released: it has no destructor of its own, so that it is usable until the thread ends.
Scratch &threadScratch() {
  static_assert(std::is_trivially_destructible_v<Scratch>);
  static thread_local constinit Scratch scratch;
  static thread_local struct Releaser {
    ~Releaser() { scratch.release(); }
  } releaser;
  (void)&releaser; // makes it for this thread
  return scratch;
}

/// oneTBB's threads do not exist in the child of a fork, and they may have held its locks. A child whose
/// parent had used it computes with its streams' threads alone.
std::atomic<bool> arenaIsUsed{false}, arenaIsLost{false};
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { arenaIsLost = arenaIsUsed.load(); });

tbb::task_arena &arena() {
  arenaIsUsed.store(true, std::memory_order_relaxed);
  // One slot stays reserved for the stream thread, which works too but is no member of the arena. Never
  // destroyed: streams of a forgotten context may outlive static destructors.
  static tbb::task_arena *shared = new tbb::task_arena(std::max(2, coreCount()), 1);
  return *shared;
}

int64_t elapsedPs(Clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - since).count() * 1000;
}

} // namespace

/// One launch being worked on. The programs are cut into chunks, the chunks into one run per thread: each
/// thread works through its own run first, so that neighbouring programs share a core's cache, then helps
/// with the others'. A helper that comes late finds nothing to claim; it shares ownership, so the job is
/// still there.
struct Job {
  struct alignas(64) Run {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  KernelFn entry;
  const uint64_t *values;
  size_t scratchBytes;
  int64_t programs, chunks;
  std::vector<Run> runs = std::vector<Run>(std::max(1, coreCount()));
  std::atomic<int64_t> chunksLeft{0};
  std::atomic<bool> outOfMemory{false};
  std::atomic<int> helpers{0}; // called and not yet gone
  Gate finished;

  void prepare(const Kernel &kernel, const uint64_t *launchValues, int64_t count) {
    entry = kernel.entry;
    values = launchValues;
    scratchBytes = kernel.scratchBytes;
    programs = count;
    auto threads = static_cast<int64_t>(runs.size());
    chunks = std::min(count, threads * kChunksPerThread);
    for (int64_t i = 0; i < threads; ++i) {
      runs[i].next.store(chunks * i / threads, std::memory_order_relaxed);
      runs[i].end = chunks * (i + 1) / threads;
    }
    outOfMemory.store(false, std::memory_order_relaxed);
    chunksLeft.store(chunks, std::memory_order_release);
  }

  int64_t chunkBegin(int64_t chunk) const {
    return programs / chunks * chunk + std::min(chunk, programs % chunks);
  }

  /// The next chunk for thread `self`, or -1.
  int64_t claim(size_t self) {
    for (size_t i = 0; i < runs.size(); ++i) {
      Run &run = runs[(self + i) % runs.size()];
      if (run.next.load(std::memory_order_relaxed) >= run.end) continue;
      int64_t chunk = run.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk < run.end) return chunk;
    }
    return -1;
  }

  /// What a called helper does.
  void help(size_t self) {
    DefaultFloats floats;
    if (chunksLeft.load(std::memory_order_acquire) > 0) work(self); // acquire: sees all that prepare wrote
    helpers.fetch_sub(1, std::memory_order_release);
  }

  /// Claims and runs chunks until none is left.
  void work(size_t self) {
    for (int64_t chunk; (chunk = claim(self)) >= 0;)
      runChunk(chunk);
  }

  void runChunk(int64_t chunk) {
    if (uint8_t *scratch = threadScratch().get(scratchBytes))
      entry(values, chunkBegin(chunk), chunkBegin(chunk + 1), scratch);
    else
      outOfMemory.store(true, std::memory_order_relaxed);
    if (chunksLeft.fetch_sub(1, std::memory_order_seq_cst) == 1) finished.notify();
  }
};

Launcher::Launcher() : job_(std::make_shared<Job>()) {}
Launcher::~Launcher() = default;

bool Launcher::run(Kernel &kernel, const uint64_t *values, int64_t programs) {
  if (programs == 0) return true;
  if (job_->helpers.load(std::memory_order_acquire) != 0) // a late helper still looks at the last launch
    job_ = std::make_shared<Job>();
  Job &job = *job_;
  job.prepare(kernel, values, programs);

  auto costOf = [&](int64_t count) {
    return static_cast<double>(kernel.programCost.load(std::memory_order_relaxed)) *
           static_cast<double>(count);
  };
  bool woken = job.runs.size() == 1 || programs == 1 || arenaIsLost.load(std::memory_order_relaxed);
  auto wake = [&] {
    woken = true;
    const SignalMask mask; // this may be a thread of the program, and workers inherit what it blocks
    try {
      for (size_t i = 1; i < job.runs.size() && static_cast<int64_t>(i) < job.chunks; ++i) {
        job.helpers.fetch_add(1, std::memory_order_relaxed);
        arena().enqueue([shared = job_, i] { shared->help(i); });
      }
    } catch (const std::exception &) {
      // No memory or no thread for a helper: this thread does what is left. The count stays, so that the job
      // is not used again.
    }
  };
  bool costKnown = kernel.programCost.load(std::memory_order_relaxed) != 0;
  if (!woken && (!costKnown || costOf(programs) >= kWorthWakingPs)) wake();

  const auto start = Clock::now();
  auto costSinceStart = [&](int64_t count) {
    return static_cast<uint64_t>(std::max<int64_t>(1, elapsedPs(start) / count));
  };
  // The first chunk renews the estimate, and calls for help where the last one was too low.
  if (int64_t chunk = job.claim(0); chunk >= 0) {
    int64_t count = job.chunkBegin(chunk + 1) - job.chunkBegin(chunk);
    job.runChunk(chunk);
    kernel.programCost.store(costSinceStart(count), std::memory_order_relaxed);
    if (!woken && costOf(programs - count) >= kWorthWakingPs) wake();
  }
  job.work(0);
  job.finished.wait([&] { return job.chunksLeft.load(std::memory_order_seq_cst) == 0; }, kJoinSpin);
  if (job.outOfMemory.load(std::memory_order_relaxed)) return false;
  if (kernel.runsAnywhere)
    kernel.remember(values, job.chunks == 1 ? kernel.programCost.load(std::memory_order_relaxed)
                                            : costSinceStart(programs));
  return true;
}

} // namespace tessera::cpu
