// How many threads a launch uses.
#include "plugins/cpu/runtime/Parallelism.h"
#include "plugins/cpu/runtime/Topology.h"
#include "plugins/cpu/runtime/Workers.h"
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <thread>

namespace {
bool pretendsOpenMp = false;
}
/// The program's OpenMP runtime, of which the library knows only this function.
extern "C" int omp_in_parallel() { return pretendsOpenMp; }

namespace tessera::cpu {
namespace {

TEST(ParallelRegions, AreThoseOfOneTbb) {
  EXPECT_FALSE(isInParallelRegion());
  // One thread: the thread sanitizer takes what oneTBB's templates share between threads for races
  // (tsan.supp).
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  std::atomic<int> inside{0};
  tbb::parallel_for(0, 8, [&](int) { inside += isInParallelRegion(); });
  EXPECT_EQ(inside, 8);
  EXPECT_FALSE(isInParallelRegion()); // the thread stays known to oneTBB
}

TEST(ParallelRegions, AreThoseOfOpenMp) {
  pretendsOpenMp = true;
  const bool found = isInParallelRegion();
  pretendsOpenMp = false;
  EXPECT_TRUE(found);
}

TEST(Helpers, AreLimitedByAGlobalControl) {
  EXPECT_EQ(helperLimit(), coreCount() - 1);
  {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(helperLimit(), 0);
  }
  EXPECT_EQ(helperLimit(), coreCount() - 1);
}

std::mutex mutex;
std::set<std::thread::id> threads;
std::atomic<int64_t> ran{0};

/// Each program takes 50 us.
void work(const uint64_t *, int64_t begin, int64_t end, uint8_t *) {
  for (int64_t i = begin; i < end; ++i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  ran += end - begin;
  const std::lock_guard lock(mutex);
  threads.insert(std::this_thread::get_id());
}

void quick(const uint64_t *, int64_t begin, int64_t end, uint8_t *) {
  ran += end - begin;
  const std::lock_guard lock(mutex);
  threads.insert(std::this_thread::get_id());
}

class Launches : public ::testing::Test {
protected:
  void SetUp() override {
    ran = 0;
    threads.clear();
  }
  static Kernel kernel(KernelFn entry) {
    return Kernel({.name = "k", .metadata = "", .valueCount = 0}, reinterpret_cast<const void *>(entry),
                  nullptr);
  }
  Launcher launcher;
};

TEST_F(Launches, RunEveryProgramOnceWithHelpers) {
  Kernel k = kernel(work);
  // A busy machine may start the helper too late once.
  int launches = 0;
  for (; launches < 200 && threads.size() < 2; ++launches)
    EXPECT_TRUE(launcher.run(k, nullptr, {40}));
  EXPECT_EQ(ran, 40 * launches);
  if (coreCount() > 1) EXPECT_GT(threads.size(), 1u);
}

/// Each program takes 0.5 us.
void brief(const uint64_t *, int64_t begin, int64_t end, uint8_t *) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(500 * (end - begin));
  while (std::chrono::steady_clock::now() < until) {
  }
  quick(nullptr, begin, end, nullptr);
}

TEST_F(Launches, WakeHelpersThatOneOfThemWouldNotPayFor) {
  Kernel k = kernel(brief); // 20 us in all, where waking takes 15 us and more
  int64_t launches = 0;
  for (; launches < 50000 && threads.size() < 2; ++launches)
    EXPECT_TRUE(launcher.run(k, nullptr, {40}));
  EXPECT_EQ(ran, 40 * launches);
  if (coreCount() > 1) EXPECT_GT(threads.size(), 1u);
}

TEST_F(Launches, RunAloneInParallelRegions) {
  Kernel k = kernel(work);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(launcher.run(k, nullptr, {40}, /*isAlone=*/true));
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(threads.size(), 1u);
}

std::thread::id caller;
std::atomic<bool> isHelped{false};

/// As short as a program can be: one that waits for a lock takes longer when it is shared, and so stays
/// shared.
void shortest(const uint64_t *, int64_t begin, int64_t end, uint8_t *) {
  ran.fetch_add(end - begin, std::memory_order_relaxed);
  if (std::this_thread::get_id() != caller) isHelped = true;
}

TEST_F(Launches, RunAloneIfTheyAreShort) {
  caller = std::this_thread::get_id();
  Kernel k = kernel(shortest);
  int64_t launches = 0;
  do { // on a busy machine some may be measured too long
    isHelped = false;
    EXPECT_TRUE(launcher.run(k, nullptr, {40}));
  } while (++launches < 5 || (launches < 1000 && isHelped));
  EXPECT_EQ(ran, 40 * launches);
  EXPECT_FALSE(isHelped);
}

} // namespace
} // namespace tessera::cpu
