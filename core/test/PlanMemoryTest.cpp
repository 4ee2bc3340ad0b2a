#include "core/metadata/PlanMemory.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace tessera;

namespace {

PlacedBuffers placed(const std::vector<int64_t> &bytes, const std::vector<Lifetime> &lifetimes) {
  PlacedBuffers out;
  EXPECT_TRUE(placeBuffers(bytes, lifetimes, out));
  return out;
}

TEST(PlanMemory, LifetimesRunFromTheFirstToTheLastUse) {
  HostPlan plan;
  plan.buffers = {{"a", DType::F32, {}}, {"b", DType::F32, {}}, {"c", DType::F32, {}}};
  plan.steps = {
      {"f.g0", {"x", "a"}}, {"f.g1", {"a", "b", "M"}}, {"f.g2", {"b", "c", "y"}}, {"f.g3", {"a", "y"}}};
  std::vector<Lifetime> l = lifetimes(plan);
  ASSERT_EQ(l.size(), 3u);
  EXPECT_EQ(std::pair(l[0].first, l[0].last), (std::pair{0u, 3u}));
  EXPECT_EQ(std::pair(l[1].first, l[1].last), (std::pair{1u, 2u}));
  EXPECT_EQ(std::pair(l[2].first, l[2].last), (std::pair{2u, 2u}));
}

TEST(PlanMemory, NoBuffersNeedNoMemory) {
  EXPECT_EQ(placed({}, {}).peakBytes, 0);
  EXPECT_EQ(placed({0, 0}, {{0, 3}, {1, 2}}).peakBytes, 0);
}

TEST(PlanMemory, AChainAlternatesBetweenTwoHalves) {
  PlacedBuffers p = placed({128, 128, 128, 128}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  EXPECT_EQ(p.offsets, (std::vector<int64_t>{0, 128, 0, 128}));
  EXPECT_EQ(p.peakBytes, 256);
}

TEST(PlanMemory, BuffersOfOneStepDoNotOverlap) {
  PlacedBuffers p = placed({64, 64, 64}, {{0, 0}, {0, 0}, {0, 0}});
  EXPECT_EQ(p.offsets, (std::vector<int64_t>{0, 64, 128}));
  EXPECT_EQ(p.peakBytes, 192);
}

TEST(PlanMemory, OffsetsAreAligned) {
  PlacedBuffers p = placed({1, 65, 3}, {{0, 1}, {0, 1}, {0, 1}});
  EXPECT_EQ(p.offsets, (std::vector<int64_t>{192, 0, 128}));
  EXPECT_EQ(p.peakBytes, 256);
}

TEST(PlanMemory, AnEmptyBufferUsesNoMemory) {
  PlacedBuffers p = placed({64, 0, 64}, {{0, 2}, {0, 2}, {0, 2}});
  EXPECT_EQ(p.peakBytes, 128);
}

// Computed by hand: 512 is placed at 0, 384 next to it at 512, 256 below that at 0, and 192 between the two
// at 256. Then 64 bytes fit into [0,256) and into [448,512), which is smaller.
TEST(PlanMemory, TheSmallestSufficientGapIsUsed) {
  PlacedBuffers p = placed({512, 384, 256, 192, 64}, {{0, 0}, {0, 9}, {1, 1}, {1, 9}, {9, 9}});
  EXPECT_EQ(p.offsets, (std::vector<int64_t>{0, 512, 0, 256, 448}));
  EXPECT_EQ(p.peakBytes, 896);
}

TEST(PlanMemory, SizesBeyond63BitsAreRefused) {
  PlacedBuffers p;
  EXPECT_FALSE(placeBuffers({INT64_MAX}, {{0, 0}}, p));
  EXPECT_FALSE(placeBuffers({INT64_MAX / 2 + 1, INT64_MAX / 2 + 1}, {{0, 0}, {0, 0}}, p));
  EXPECT_TRUE(placeBuffers({INT64_MAX / 2 - 63, INT64_MAX / 2 - 63}, {{0, 0}, {1, 1}}, p));
  EXPECT_EQ(p.offsets, (std::vector<int64_t>{0, 0}));
}

TEST(PlanMemory, NoTwoLiveBuffersOverlap) {
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int turn = 0; turn < 400; ++turn) {
    size_t count = below(40);
    uint32_t steps = 1 + below(30);
    std::vector<int64_t> bytes(count);
    std::vector<Lifetime> when(count);
    for (size_t i = 0; i < count; ++i) {
      bytes[i] = below(5) ? below(5000) : 0;
      uint32_t a = below(steps), b = below(steps);
      when[i] = {std::min(a, b), std::max(a, b)};
    }
    PlacedBuffers p = placed(bytes, when);
    auto rounded = [&](size_t i) { return (bytes[i] + 63) / 64 * 64; };
    int64_t sum = 0, maxLive = 0, highest = 0;
    for (size_t i = 0; i < count; ++i) {
      sum += rounded(i);
      if (bytes[i]) highest = std::max(highest, p.offsets[i] + rounded(i));
      ASSERT_EQ(p.offsets[i] % 64, 0);
      ASSERT_GE(p.offsets[i], 0);
      for (size_t j = 0; j < i; ++j)
        if (bytes[i] && bytes[j] && when[i].overlaps(when[j]))
          ASSERT_TRUE(p.offsets[i] + bytes[i] <= p.offsets[j] || p.offsets[j] + bytes[j] <= p.offsets[i])
              << turn << ": " << i << " and " << j;
    }
    for (uint32_t step = 0; step < steps; ++step) {
      int64_t live = 0;
      for (size_t i = 0; i < count; ++i)
        if (when[i].overlaps({step, step})) live += rounded(i);
      maxLive = std::max(maxLive, live);
    }
    ASSERT_LE(p.peakBytes, sum);
    ASSERT_GE(p.peakBytes, maxLive);
    ASSERT_EQ(p.peakBytes, highest);
  }
}

} // namespace
