// How long a launch is expected to take, from the last one of the kernel.
#include "plugins/cpu/runtime/Kernel.h"
#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

constexpr int64_t kUnknown = INT64_MAX;

/// The prediction for a launch of 10 programs with `value`, after one with `last` that took 7 ps per program.
int64_t predicted(uint64_t last, uint64_t value, bool mayWait = false) {
  Kernel kernel({.name = "k", .valueCount = 1, .mayWait = mayWait}, nullptr, nullptr);
  kernel.remember(&last, 10, 70, 1);
  return kernel.predict(&value, 10);
}

TEST(Prediction, CountsProgramsForSimilarIntegers) {
  for (uint64_t value : {500u, 1000u, 2000u})
    EXPECT_EQ(predicted(1000, value), 70) << value;
  EXPECT_EQ(predicted(0, 0), 70);
}

// Loops may run up to an argument or from it, so that less is no promise either.
TEST(Prediction, IsUnknownForIntegersFarFromTheLast) {
  for (uint64_t value :
       {uint64_t{0}, uint64_t{499}, uint64_t{2001}, uint64_t{1} << 32, uint64_t(-2'000'000'000)})
    EXPECT_EQ(predicted(1000, value), kUnknown) << value;
  EXPECT_EQ(predicted(0, 1), kUnknown);
  EXPECT_EQ(predicted(1, 0), kUnknown);
}

TEST(Prediction, DoesNotDependOnWhereMemoryIs) {
  EXPECT_EQ(predicted(0x5555'0000'1000, 0x7fff'0000'0000), 70);
  EXPECT_EQ(predicted(0x1990'9b90, 0x7fff'0000'0000), 70); // the heap of a program at a fixed address
}

TEST(Prediction, IsUnknownForKernelsThatMayWait) { EXPECT_EQ(predicted(1, 1, /*mayWait=*/true), kUnknown); }

// A kernel whose work depends on what it reads may take longer at any launch.
TEST(Prediction, IsMeasuredAgainAfterAFewBriefLaunches) {
  Kernel kernel({.name = "k", .valueCount = 1, .mayWait = false}, nullptr, nullptr);
  const uint64_t value = 1;
  kernel.remember(&value, 10, 70, 1);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 15; ++i)
      EXPECT_TRUE(kernel.maySkipClock()) << i;
    EXPECT_FALSE(kernel.maySkipClock());
  }
  kernel.remember(&value, 10, 70, 2); // helpers are called by the clock
  EXPECT_FALSE(kernel.maySkipClock());
}

} // namespace
} // namespace tessera::cpu
