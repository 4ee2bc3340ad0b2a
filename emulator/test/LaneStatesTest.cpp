// The sets of lanes of the emulator, beside a visit to each lane.
#include "emulator/LaneStates.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace tessera::emulator {
namespace {

class LanesTest : public testing::TestWithParam<int> {};

TEST_P(LanesTest, AnswersAreThoseOfAVisitToEachLane) {
  const int lanes = GetParam();
  std::mt19937 random(static_cast<unsigned>(lanes));
  auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  LaneStates states(lanes);
  std::vector<LaneState> all(static_cast<size_t>(lanes), LaneState::Ready);
  auto visit = [&](int from, int step) { // the first ready lane, around all of them
    for (int i = 0; i < lanes; ++i)
      if (const int lane = ((from + i * step) % lanes + lanes) % lanes;
          all[static_cast<size_t>(lane)] == LaneState::Ready)
        return lane;
    return -1;
  };
  for (int round = 0; round < 3000; ++round) {
    const int lane = below(lanes);
    const auto state = round % 5 ? LaneState::AtWarp : static_cast<LaneState>(below(7));
    states.set(lane, state), all[static_cast<size_t>(lane)] = state;
    EXPECT_EQ(states[lane], state);
    const int at = below(lanes + 1) - 1;
    EXPECT_EQ(states.readyAfter(at), visit(at + 1, 1));
    if (at >= 0) {
      EXPECT_EQ(states.readyBefore(at), visit(at - 1 + lanes, -1));
    }
    const int first = below(lanes), last = first + 1 + below(std::min(lanes - first, 128));
    const uint32_t mask = random() | random();
    bool haveMet = true;
    for (int i = first; i < last; ++i)
      if (last - first > 32 || mask >> (i - first) & 1)
        haveMet &= all[static_cast<size_t>(i)] == LaneState::AtWarp;
    EXPECT_EQ(states.haveMet(first, last, mask), haveMet);
  }
  states.reset();
  EXPECT_EQ(states.readyAfter(-1), 0);
  EXPECT_EQ(states.readyBefore(0), lanes - 1);
}

INSTANTIATE_TEST_SUITE_P(Lanes, LanesTest,
                         testing::Values(1, 2, 31, 32, 33, 63, 64, 65, 128, 200, 256, 1024));

} // namespace
} // namespace tessera::emulator
