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
/// Work shorter than this is done before a second thread has woken up.
constexpr int64_t kWorthWakingPs = 8'000'000;
constexpr auto kJoinSpin = std::chrono::microseconds(200);

/// Returns this thread's scratch. It has no destructor of its own and stays usable until the thread ends,
/// because destructors of the program's other thread-local objects may launch kernels after the scratch was
/// released.
Scratch &threadScratch() {
  static_assert(std::is_trivially_destructible_v<Scratch>);
  static thread_local constinit Scratch scratch;
  static thread_local struct Releaser {
    ~Releaser() { scratch.release(); }
  } releaser;
  (void)&releaser; // creates it for this thread
  return scratch;
}

/// oneTBB's threads do not exist in the child of a fork, and they may have held its locks. If the parent had
/// used oneTBB, the child computes with its streams' threads alone.
std::atomic<bool> arenaIsUsed{false}, arenaIsLost{false};
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { arenaIsLost = arenaIsUsed.load(); });

tbb::task_arena &arena() {
  arenaIsUsed.store(true, std::memory_order_relaxed);
  // One slot is reserved for the stream thread, which works too but is not a member of the arena. Never
  // destroyed: streams of a leaked context may outlive static destructors.
  static tbb::task_arena *shared = new tbb::task_arena(std::max(2, coreCount()), 1);
  return *shared;
}

int64_t elapsedPs(Clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - since).count() * 1000;
}

} // namespace

/// One launch in progress. The programs are divided into chunks, and the chunks into one run per thread. Each
/// thread first works through its own run, so that neighbouring programs share a core's cache, then helps
/// with the other runs. A helper that arrives late finds nothing to claim; it shares ownership, so the job
/// still exists.
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
  std::atomic<int> helpers{0}; // called and not yet finished
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

  /// Claims the next chunk for thread `self`; -1 when none is left.
  int64_t claim(size_t self) {
    for (size_t i = 0; i < runs.size(); ++i) {
      Run &run = runs[(self + i) % runs.size()];
      if (run.next.load(std::memory_order_relaxed) >= run.end) continue;
      int64_t chunk = run.next.fetch_add(1, std::memory_order_relaxed);
      if (chunk < run.end) return chunk;
    }
    return -1;
  }

  /// The work of a called helper.
  void help(size_t self) {
    DefaultFloats floats;
    // acquire: sees everything that prepare() wrote
    if (chunksLeft.load(std::memory_order_acquire) > 0) work(self);
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
  if (job_->helpers.load(std::memory_order_acquire) != 0) // a late helper still uses the last launch
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
    const SignalMask mask; // this may be a thread of the program, and workers inherit its signal mask
    try {
      for (size_t i = 1; i < job.runs.size() && static_cast<int64_t>(i) < job.chunks; ++i) {
        job.helpers.fetch_add(1, std::memory_order_relaxed);
        arena().enqueue([shared = job_, i] { shared->help(i); });
      }
    } catch (const std::exception &) {
      // No memory or no thread for a helper: this thread does the remaining work. The count stays raised, so
      // that the job is not reused.
    }
  };
  bool costKnown = kernel.programCost.load(std::memory_order_relaxed) != 0;
  if (!woken && (!costKnown || costOf(programs) >= kWorthWakingPs)) wake();

  const auto start = Clock::now();
  auto costSinceStart = [&](int64_t count) {
    return static_cast<uint64_t>(std::max<int64_t>(1, elapsedPs(start) / count));
  };
  // The first chunk updates the estimate, and wakes helpers if the previous estimate was too low.
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
