// Compares ways to distribute the programs of one launch over the cores, for
// docs/decisions/0001-cpu-launch.md. Each launch has two identical bodies of a given length; launches follow
// each other back to back, from one thread. Reports for each way the median, the 99th percentile and the
// share of launches whose halves ran one after the other.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <thread>
#include <vector>

#include "plugins/cpu/runtime/Gate.h"

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

namespace {

int64_t nowNs() { return Clock::now().time_since_epoch().count(); }

/// Work of a fixed number of dependent steps, the same on every core.
volatile uint64_t sink;
void body(int64_t steps) {
  uint64_t x = 1;
  for (int64_t i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
  sink = x;
}

/// A way to run the body once per index on two threads.
struct Way {
  const char *name;
  void (*launch)(int64_t steps);
};

void serial(int64_t steps) {
  body(steps);
  body(steps);
}

tbb::task_arena &arena() {
  static tbb::task_arena shared(2, 1);
  return shared;
}

void parallelForAuto(int64_t steps) {
  tbb::parallel_for(0, 2, [=](int) { body(steps); });
}
void parallelForStatic(int64_t steps) {
  tbb::parallel_for(0, 2, [=](int) { body(steps); }, tbb::static_partitioner());
}
void parallelForInArena(int64_t steps) {
  arena().execute([=] { tbb::parallel_for(0, 2, [=](int) { body(steps); }, tbb::static_partitioner()); });
}

struct Shared {
  std::atomic<int> next{0}, left{0};
  int64_t steps = 0;
  void work() {
    while (next.fetch_add(1) < 2) {
      body(steps);
      left.fetch_sub(1);
    }
  }
};

void enqueueAndClaim(int64_t steps) {
  auto job = std::make_shared<Shared>();
  job->left = 2;
  job->steps = steps;
  arena().enqueue([job] { job->work(); });
  job->work();
  while (job->left.load())
    tessera::cpu::spinPause();
}

/// A worker thread that spins for a while, then sleeps on a futex.
struct Worker {
  std::atomic<uint64_t> posted{0};
  std::atomic<bool> stop{false};
  Shared job;
  tessera::cpu::Gate gate;
  std::thread thread{[this] {
    for (uint64_t seen = 0;;) {
      gate.wait([&] { return posted.load() != seen || stop.load(); }, std::chrono::microseconds(50));
      if (stop.load()) return;
      seen = posted.load();
      job.work();
      // The caller may reuse the job when no thread is inside.
      done.store(seen);
    }
  }};
  std::atomic<uint64_t> done{0};
  ~Worker() {
    stop = true;
    gate.notify();
    thread.join();
  }
  void launch(int64_t steps) {
    while (done.load() != posted.load())
      tessera::cpu::spinPause();
    job.steps = steps;
    job.left = 2;
    job.next = 0;
    posted.fetch_add(1);
    gate.notify();
    job.work();
    while (job.left.load())
      tessera::cpu::spinPause();
  }
};
void ownWorker(int64_t steps) {
  static Worker worker;
  worker.launch(steps);
}

void measure(const Way &way, int64_t steps, nanoseconds pause) {
  constexpr int kLaunches = 500;
  std::vector<int64_t> ns;
  for (int i = 0; i < 50; ++i)
    way.launch(steps);
  for (int i = 0; i < kLaunches; ++i) {
    if (pause.count()) std::this_thread::sleep_for(pause);
    int64_t start = nowNs();
    way.launch(steps);
    ns.push_back(nowNs() - start);
  }
  // The time of one body alone:
  int64_t start = nowNs();
  for (int i = 0; i < 200; ++i)
    body(steps);
  int64_t one = (nowNs() - start) / 200;
  std::sort(ns.begin(), ns.end());
  auto slow = std::count_if(ns.begin(), ns.end(), [&](int64_t t) { return t > one * 18 / 10; });
  std::printf("%-22s body %8.1f us  median %8.1f  p99 %8.1f  one after the other %5.1f %%\n", way.name,
              one / 1e3, ns[ns.size() / 2] / 1e3, ns[ns.size() * 99 / 100] / 1e3, 100.0 * slow / kLaunches);
}

} // namespace

int main() {
  const Way ways[] = {{"serial", serial},
                      {"parallel_for auto", parallelForAuto},
                      {"parallel_for static", parallelForStatic},
                      {"parallel_for in arena", parallelForInArena},
                      {"enqueue + claim", enqueueAndClaim},
                      {"own worker", ownWorker}};
  for (auto pause : {nanoseconds(0), nanoseconds(200000)})
    for (int64_t steps : {2000, 20000, 200000}) {
      std::printf("-- %s\n", pause.count() ? "200 us of sleep between launches" : "back to back");
      for (const Way &way : ways)
        measure(way, steps, pause);
    }
}
