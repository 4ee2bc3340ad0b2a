// How a launch is divided: by calls of the kernel, which are counted.
#include "plugins/cpu/runtime/Workers.h"
#include "plugins/cpu/runtime/Parallelism.h"
#include "plugins/cpu/runtime/Standby.h"
#include "plugins/cpu/runtime/Topology.h"
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::cpu {
namespace {

std::mutex callsMutex;
std::vector<std::pair<int64_t, int64_t>> calls; // ranges of programs
std::atomic<int64_t> sleepUs;                   // of each program, as the contents of memory decide

void entry(const uint64_t *, int64_t begin, int64_t end, uint8_t *) {
  if (sleepUs > 0) std::this_thread::sleep_for(std::chrono::microseconds(sleepUs * (end - begin)));
  const std::lock_guard lock(callsMutex);
  calls.emplace_back(begin, end);
}

class Workers : public testing::Test {
protected:
  Workers()
      : kernel({.name = "k", .metadata = "", .valueCount = 1}, reinterpret_cast<void *>(entry), nullptr) {}

  /// Launches and returns the calls in the order of their programs.
  std::vector<std::pair<int64_t, int64_t>> launch(int64_t programs, int64_t us) {
    return launch(kernel, {programs}, us);
  }
  std::vector<std::pair<int64_t, int64_t>> launch(Kernel &kernel, const LaunchGrid &grid, int64_t us) {
    const int64_t programs = grid.programs();
    calls.clear();
    sleepUs = us;
    EXPECT_TRUE(launcher.run(kernel, &value, grid));
    std::ranges::sort(calls);
    int64_t next = 0;
    for (const auto &[begin, end] : calls) {
      EXPECT_EQ(begin, next);
      next = end;
    }
    EXPECT_EQ(next, programs) << "each program runs once";
    return calls;
  }

  Kernel kernel;
  Launcher launcher;
  const uint64_t value = 7;
};

TEST_F(Workers, AnUnderestimatedLaunchGetsHelpers) {
  if (coreCount() < 2 || helperLimit() == 0) GTEST_SKIP() << "one thread makes one call";
  kernel.remember(&value, 80, 1'000'000, 1); // 1 us
  const auto ranges = launch(80, 1000);
  EXPECT_EQ(ranges[0], std::pair(int64_t{0}, int64_t{10})) << "an eighth tells more";
  EXPECT_GT(ranges.size(), 2u);
}

TEST_F(Workers, AVeryShortLaunchIsOneCall) {
  kernel.remember(&value, 80, 100'000, 1); // 0.1 us
  EXPECT_EQ(launch(80, 0).size(), 1u);
}

TEST_F(Workers, TheNumberOfProgramsMayBeAnything) {
  for (int64_t programs : {0, 1, 2, 3, 7, 8, 9, 17, 1000})
    for (int64_t expectedPs : {100'000, 1'000'000, 3'000'000}) {
      kernel.remember(&value, std::max<int64_t>(programs, 1), expectedPs, 1);
      launch(programs, 0);
    }
}

TEST_F(Workers, ProgramsThatShareOperandsRunInFewLongCalls) {
  Kernel product({.name = "p", .valueCount = 1, .sharesOperands = true}, reinterpret_cast<void *>(entry),
                 nullptr);
  if (coreCount() < 2 || helperLimit() == 0) GTEST_SKIP() << "one thread makes one call";
  const auto cores = static_cast<size_t>(coreCount());
  const LaunchGrid lines = {7, 840}; // which up to 8 threads divide evenly
  product.remember(&value, lines.programs(), 1'000'000'000'000, 1);
  const auto ranges = launch(product, lines, 0);
  EXPECT_GT(ranges.size(), 1u);
  EXPECT_LE(ranges.size(), 20 * cores) << "each claim takes most or half of what is left";
  for (const auto &[begin, end] : ranges)
    EXPECT_EQ(begin % 7, 0) << "no line is divided";
}

TEST_F(Workers, ProgramsThatShareOperandsRunOnceInAnyGrid) {
  Kernel product({.name = "p", .valueCount = 1, .sharesOperands = true}, reinterpret_cast<void *>(entry),
                 nullptr);
  for (const LaunchGrid &grid : {LaunchGrid{0, 3}, {1, 1}, {5, 1}, {5, 3}, {1, 7}, {6, 4}, {7, 2, 3}}) {
    launch(product, grid, 0); // of unknown cost: the first program runs alone
    product.remember(&value, std::max<int64_t>(grid.programs(), 1), 1'000'000'000, 1);
    launch(product, grid, 20);
  }
}

TEST(Standby, GivesWorkToAHelperThatWaits) {
  Standby<int> standby;
  int work = 7;
  EXPECT_FALSE(standby.call(work));
  std::optional<int> got;
  // A helper that notices that its core is shared leaves; it comes back here.
  std::thread helper([&] {
    while (!got)
      got = standby.wait(std::chrono::milliseconds(1), [] { return true; });
  });
  while (!standby.call(work))
    std::this_thread::yield();
  helper.join();
  EXPECT_EQ(got, 7);
  EXPECT_FALSE(standby.call(work));
}

TEST(Standby, LosesNoWorkIfHelpersLeaveMeanwhile) {
  Standby<int> standby;
  std::atomic<int64_t> sum{0};
  std::atomic<bool> isDone{false};
  auto help = [&] {
    while (!isDone)
      if (auto work = standby.wait(std::chrono::nanoseconds(1), [] { return true; })) sum += *work;
  };
  std::thread one(help), other(help);
  int64_t given = 0;
  for (int number = 1; number <= 500;) {
    int work = number;
    if (!standby.call(work)) continue;
    given += number++;
  }
  isDone = true;
  one.join(), other.join();
  EXPECT_EQ(sum, given);
}

} // namespace
} // namespace tessera::cpu
