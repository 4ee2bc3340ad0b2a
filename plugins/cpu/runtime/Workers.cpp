// Why chunks claimed from counters in a task_arena, and not tbb::parallel_for:
// docs/decisions/0001-cpu-launch.md.
#include "plugins/cpu/runtime/Workers.h"
#include "numerics/FloatEnvironment.h"
#include "plugins/cpu/runtime/Gate.h"
#include "plugins/cpu/runtime/Parallelism.h"
#include "plugins/cpu/runtime/Scratch.h"
#include "plugins/cpu/runtime/SignalMask.h"
#include "plugins/cpu/runtime/Standby.h"
#include "plugins/cpu/runtime/Topology.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <type_traits>
#include <vector>

namespace tessera::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChunksPerThread = 8;
/// A chunk is worth the claim, and a thread's share the wake-up.
constexpr int64_t kSmallestChunkPs = 5'000'000;
/// A launch that is expected to take less is not looked at twice: the clock would cost too much of it.
constexpr double kSecondLookPs = 500'000;
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

/// Binds each worker to a core of its own while TESSERA_CPU_PIN=on. The streams' threads stay free: there may
/// be several.
class Pinning final : public tbb::task_scheduler_observer {
public:
  explicit Pinning(tbb::task_arena &arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  void on_scheduler_entry(bool isWorker) override {
    if (isWorker) pinToCore(tbb::this_task_arena::current_thread_index());
  }
};

tbb::task_arena &arena() {
  arenaIsUsed.store(true, std::memory_order_relaxed);
  // One slot is reserved for the stream thread, which works too but is not a member of the arena. Never
  // destroyed: streams of a leaked context may outlive static destructors.
  static tbb::task_arena *shared = [] {
    auto *out = new tbb::task_arena(std::max(2, coreCount()), 1);
    const char *pin = std::getenv("TESSERA_CPU_PIN");
    if (pin && std::strcmp(pin, "on") == 0) new Pinning(*out);
    return out;
  }();
  return *shared;
}

int64_t elapsedPs(Clock::time_point since, Clock::time_point until) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(until - since).count() * 1000;
}

/// How long a helper takes from the call to its first look at the work, in picoseconds: one average for
/// helpers that had work a moment ago and may still look for more, and one for those that sleep. All streams
/// share them.
class WakeTime {
public:
  /// Returns the expected time. Each look at it moves the average a little towards its initial value: if one
  /// slow wake-up on a busy machine ended all waking, no other would ever be measured.
  static int64_t expect(bool areAwake) {
    auto &average = averages_[areAwake];
    const int64_t now = average.load(std::memory_order_relaxed);
    average.store(now + (kInitial[areAwake] - now) / 64, std::memory_order_relaxed);
    return now;
  }
  static void measured(bool wereAwake, int64_t ps) {
    auto &average = averages_[wereAwake];
    const int64_t now = average.load(std::memory_order_relaxed);
    average.store(now + (std::min(ps, kMost) - now) / 8, std::memory_order_relaxed);
  }
  /// Helpers look for work for this long, if they had been called in a loop.
  static constexpr auto kAwake = std::chrono::microseconds(100);

private:
  static constexpr int64_t kInitial[2] = {15'000'000, 2'000'000}, kMost = 200'000'000;
  static inline std::atomic<int64_t> averages_[2] = {kInitial[0], kInitial[1]};
};

/// Returns how many helpers to wake for work of `ps`: as many as have a chunk to claim, if the work is then
/// done in nine tenths of the time.
int helpersFor(double ps, int64_t wakePs, int most) {
  const auto chunks = static_cast<int>(std::min(ps / kSmallestChunkPs, 1e6));
  const int helpers = std::min(most, chunks - 1);
  return helpers > 0 && ps / (helpers + 1) + static_cast<double>(wakePs) < 0.9 * ps ? helpers : 0;
}

} // namespace

/// One launch in progress. The programs are divided into chunks, and the chunks into one run per thread. Each
/// thread first works through its own run, so that neighbouring programs share a core's cache, then helps
/// with the other runs. A helper that arrives late finds nothing to claim; it shares ownership, so the job
/// still exists.
///
/// If programs share operands (Kernel::sharesOperands), a thread claims most of its run at once, and half of
/// what is left of another's run: docs/decisions/0141.
struct Job {
  struct Claim {
    int64_t first = 0, count = 0; // chunks; none: nothing is left
  };
  struct alignas(64) Run {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  const Kernel *kernel;
  const uint64_t *values;
  int64_t begin, programs, chunks;
  bool sharesOperands;
  std::vector<Run> runs;
  std::atomic<int64_t> chunksLeft{0};
  std::atomic<bool> outOfMemory{false};
  std::atomic<int> helpers{0}; // called and not yet finished
  std::atomic<int> workers{1}; // threads that ran a chunk, the caller among them
  Gate finished;
  Clock::time_point called; // when the helpers were
  bool wereAwake = false, isInLoop = false;

  /// For the programs from `first` on, in at most `most` chunks, for `threads` threads. `areAwake`: whether
  /// the helpers that are about to be called still look for work; `inLoop`: whether they should afterwards.
  void prepare(const Kernel &launched, const uint64_t *launchValues, const LaunchGrid &grid, int64_t first,
               int threads, int64_t most, bool areAwake, bool inLoop) {
    kernel = &launched;
    values = launchValues;
    begin = first;
    programs = grid.programs() - first;
    sharesOperands = launched.sharesOperands;
    if (static_cast<int>(runs.size()) != threads) runs = std::vector<Run>(static_cast<size_t>(threads));
    chunks = sharesOperands
                 ? chunksThatShare(grid, threads)
                 : std::clamp<int64_t>(most, 1, std::min<int64_t>(programs, threads * kChunksPerThread));
    for (int64_t i = 0; i < threads; ++i) {
      runs[i].next.store(chunks * i / threads, std::memory_order_relaxed);
      runs[i].end = chunks * (i + 1) / threads;
    }
    outOfMemory.store(false, std::memory_order_relaxed);
    workers.store(1, std::memory_order_relaxed);
    called = Clock::now();
    wereAwake = areAwake;
    isInLoop = inLoop;
    chunksLeft.store(chunks, std::memory_order_release);
  }

  /// Whole lines of programs along the last axis, which share the most, if every thread gets about as many of
  /// them; otherwise single programs.
  int64_t chunksThatShare(const LaunchGrid &grid, int64_t threads) const {
    const int64_t lines = programs / grid.x;
    const bool isEven = lines % threads == 0 || lines >= threads * kChunksPerThread;
    return begin % grid.x == 0 && lines > 0 && isEven ? lines : programs;
  }

  int64_t chunkBegin(int64_t chunk) const {
    return begin + programs / chunks * chunk + std::min(chunk, programs % chunks);
  }

  /// Claims the next chunks for thread `self`.
  Claim claim(size_t self) {
    for (size_t i = 0; i < runs.size(); ++i) {
      Run &run = runs[(self + i) % runs.size()];
      int64_t next = run.next.load(std::memory_order_relaxed);
      while (next < run.end) {
        const int64_t left = run.end - next;
        const int64_t count = !sharesOperands ? 1 : i == 0 ? left - left / 4 : left - left / 2;
        if (run.next.compare_exchange_weak(next, next + count, std::memory_order_relaxed))
          return {next, count};
      }
    }
    return {};
  }

  /// The work of a called helper. Returns whether another call may follow soon.
  bool help(size_t self) {
    // acquire: sees everything that prepare() wrote
    const bool isLate = chunksLeft.load(std::memory_order_acquire) == 0;
    WakeTime::measured(wereAwake, elapsedPs(called, Clock::now()));
    DefaultFloats floats;
    if (!isLate) work(self);
    const bool stays = isInLoop;
    helpers.fetch_sub(1, std::memory_order_release);
    return stays;
  }

  /// Claims and runs chunks until none is left.
  void work(size_t self) {
    bool isCounted = self == 0;
    for (Claim claimed; (claimed = claim(self)).count > 0;) {
      if (!isCounted) workers.fetch_add(1, std::memory_order_relaxed); // before the chunk is finished
      isCounted = true;
      runChunks(claimed);
    }
  }

  void runChunks(Claim claimed) {
    if (uint8_t *scratch = threadScratch().get(kernel->scratchBytes))
      kernel->run(values, chunkBegin(claimed.first), chunkBegin(claimed.first + claimed.count), scratch);
    else
      outOfMemory.store(true, std::memory_order_relaxed);
    if (chunksLeft.fetch_sub(claimed.count, std::memory_order_seq_cst) == claimed.count) finished.notify();
  }
};

namespace {

struct Call {
  std::shared_ptr<Job> job;
  size_t self = 0; // which of its helpers
};

/// All streams share the helpers. Never destroyed, because helpers may outlive static destructors.
Standby<Call> &standby() {
  static auto *shared = new Standby<Call>;
  return *shared;
}
[[maybe_unused]] const auto &madeStandby = standby(); // when the library is loaded: no fork may interrupt it

/// Calls that wait for a thread of oneTBB to wake. A helper that stays would keep the only one from them.
std::atomic<int> waking{0};

/// What a thread of oneTBB does when it is woken.
void helpAndStay(Job &first, size_t self) {
  waking.fetch_sub(1, std::memory_order_relaxed);
  bool stays = first.help(self);
  while (stays) {
    const std::optional<Call> next =
        standby().wait(WakeTime::kAwake, [] { return waking.load(std::memory_order_relaxed) == 0; });
    stays = next && next->job->help(next->self);
  }
}

} // namespace

Launcher::Launcher() : job_(std::make_shared<Job>()) {}
Launcher::~Launcher() = default;

/// Runs the programs from `first` on, on this thread and `helpers` others; `expectedPs`: how long one thread
/// would take; `isAwaited`: whether more launches are expected soon. Returns false when a thread had no
/// memory.
bool Launcher::share(Kernel &kernel, const uint64_t *values, const LaunchGrid &grid, int64_t first,
                     int helpers, double expectedPs, bool isAwaited) {
  if (job_->helpers.load(std::memory_order_acquire) != 0) // a late helper still uses the last launch
    job_ = std::make_shared<Job>();
  Job &job = *job_;
  const bool areAwake = areHelpersAwake(Clock::now());
  job.prepare(kernel, values, grid, first, helpers + 1,
              static_cast<int64_t>(std::min(expectedPs / kSmallestChunkPs, 1e6)), areAwake,
              areAwake || isAwaited);
  {
    const SignalMask mask; // this may be a thread of the program, and workers inherit its signal mask
    try {
      for (int i = 1; i <= helpers; ++i) {
        job.helpers.fetch_add(1, std::memory_order_relaxed);
        Call call{job_, static_cast<size_t>(i)};
        if (standby().call(call)) continue;
        waking.fetch_add(1, std::memory_order_relaxed);
        arena().enqueue([job = job_, i] { helpAndStay(*job, static_cast<size_t>(i)); });
      }
    } catch (const std::exception &) {
      // No memory or no thread for a helper: this thread does the remaining work. The job's count stays
      // raised, so that it is not reused.
      waking.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  job.work(0);
  job.finished.wait([&] { return job.chunksLeft.load(std::memory_order_seq_cst) == 0; }, kJoinSpin);
  return !job.outOfMemory.load(std::memory_order_relaxed);
}

bool Launcher::wasRecent(Clock::time_point end, Clock::time_point now) {
  return end != Clock::time_point{} && now - end < WakeTime::kAwake;
}

bool Launcher::areHelpersAwake(Clock::time_point now) const { return wasRecent(lastShared_, now); }

/// Returns how many helpers to call for work of `ps` that begins now. Helpers that sleep may take longer to
/// come than they save. They are woken all the same at the second such launch in a row, because a loop of
/// launches finds them awake from then on. `wouldShare` is set if only their sleep keeps them from this one.
int Launcher::helpersNow(double ps, int most, Clock::time_point now, bool &wouldShare) const {
  const bool areAwake = areHelpersAwake(now);
  const int helpers = helpersFor(ps, WakeTime::expect(areAwake), most);
  const int ifAwake = helpers > 0 || areAwake ? helpers : helpersFor(ps, WakeTime::expect(true), most);
  wouldShare = ifAwake > helpers;
  return wouldShare && wasRecent(lastUnshared_, now) ? ifAwake : helpers;
}

bool Launcher::runBriefly(const Kernel &kernel, const uint64_t *values, int64_t programs) {
  uint8_t *scratch = threadScratch().get(kernel.scratchBytes);
  if (scratch && programs > 0) kernel.run(values, 0, programs, scratch);
  return scratch;
}

bool Launcher::run(Kernel &kernel, const uint64_t *values, const LaunchGrid &grid, bool isAlone,
                   Clock::time_point start) {
  const int64_t programs = grid.programs();
  if (start == Clock::time_point{}) start = Clock::now();
  lastEnd_ = start;
  if (programs == 0) return true;
  uint8_t *scratch = threadScratch().get(kernel.scratchBytes);
  if (!scratch) return false;

  int most = 0;
  if (!isAlone && programs > 1 && coreCount() > 1 && !arenaIsLost.load(std::memory_order_relaxed))
    most = static_cast<int>(std::min<int64_t>(helperLimit(), programs - 1));
  // The last launch with similar values tells how long this one takes. Otherwise the first program does.
  int64_t done = 0;
  double rest = 0;
  const int64_t known = most > 0 ? kernel.expect(values, programs) : 0;
  if (known == INT64_MAX) {
    const auto begun = Clock::now(); // without what the first launch prepares
    kernel.run(values, 0, 1, scratch);
    done = 1;
    rest = static_cast<double>(elapsedPs(begun, Clock::now())) * static_cast<double>(programs - 1);
  } else {
    rest = static_cast<double>(known);
  }
  bool ok = true;
  int threads = 1;
  bool wouldShare = false;
  int helpers = most > 0 ? helpersNow(rest, most, start, wouldShare) : 0;
  if (helpers == 0 && most > 0 && done == 0 && rest >= kSecondLookPs) {
    // The cost may depend on what is in memory, which no expectation knows.
    done = std::max<int64_t>(1, programs / 8);
    kernel.run(values, 0, done, scratch);
    const auto now = Clock::now();
    rest = static_cast<double>(elapsedPs(start, now)) / static_cast<double>(done) *
           static_cast<double>(programs - done);
    helpers =
        helpersNow(rest, static_cast<int>(std::min<int64_t>(most, programs - done - 1)), now, wouldShare);
  }
  if (helpers == 0) {
    kernel.run(values, done, programs, scratch);
    lastEnd_ = Clock::now();
    if (wouldShare) lastUnshared_ = lastEnd_;
  } else {
    ok = share(kernel, values, grid, done, helpers, rest, wouldShare);
    // Helpers that came too late count for nothing, or the time of one thread would be overestimated.
    threads = job_->workers.load(std::memory_order_relaxed);
    lastShared_ = lastEnd_ = Clock::now();
  }
  if (ok) kernel.remember(values, programs, elapsedPs(start, lastEnd_), threads);
  return ok;
}

} // namespace tessera::cpu
