#include "numerics/ReductionTree.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(ReductionTree, ShortSumsRunInIndexOrder) {
  const float x[] = {1e8f, 1, 1, -1e8f};
  EXPECT_EQ(strictSum(x, 4), 0.0f); // the ones are lost next to 1e8
  EXPECT_EQ(strictSum(x, 0), 0.0f);
  EXPECT_EQ(strictSum(x + 1, 1), 1.0f);
}

TEST(ReductionTree, LeavesCombinePairwise) {
  // Leaf sums are 1e8, -1e8, 1: ((1e8 - 1e8) + 1). In index order over all elements the 1 would be added
  // first or lost.
  std::vector<float> x(3 * kReductionLeaf, 0.0f);
  x[0] = 1e8f, x[kReductionLeaf] = -1e8f, x[2 * kReductionLeaf] = 1;
  EXPECT_EQ(strictSum(x.data(), x.size()), 1.0f);
  // Leaf sums are 1e8, 1, -1e8, 0: (1e8 + 1) + (-1e8 + 0) loses the 1.
  x.assign(4 * kReductionLeaf, 0.0f);
  x[0] = 1e8f, x[kReductionLeaf] = 1, x[2 * kReductionLeaf] = -1e8f;
  EXPECT_EQ(strictSum(x.data(), x.size()), 0.0f);
}

TEST(ReductionTree, ProductsAreFused) {
  const float a = 1 + 0x1p-12f; // a * a rounds to 1 + 2^-11
  const float x[] = {-1, a}, y[] = {1 + 0x1p-11f, a};
  EXPECT_EQ(strictDot(x, y, 2), 0x1p-24f);
}

TEST(ReductionTree, StridesSelectColumns) {
  const float x[] = {1, 10, 2, 20, 3, 30};
  EXPECT_EQ(strictSum(x + 1, 3, 2), 60.0f);
  EXPECT_EQ(strictDot(x, x + 1, 3, 2, 2), 140.0f);
}

TEST(ReductionTree, LanesOfARowAreFoldedByHalves) {
  // Lanes 0 and 32 are combined first, then 0 and 16: (1e8 - 1e8) + 1.
  std::vector<float> x(kReductionLanes, 0.0f);
  x[0] = 1e8f, x[16] = 1, x[32] = -1e8f;
  EXPECT_EQ(strictRowSum(x.data(), x.size()), 1.0f);
  // Element 64 belongs to lane 0, too, and is added before lanes are folded.
  x.assign(kReductionLanes + 1, 0.0f);
  x[0] = 1e8f, x[32] = -1e8f, x[64] = 1;
  EXPECT_EQ(strictRowSum(x.data(), x.size()), 0.0f);
}

TEST(ReductionTree, BlocksOfARowAreJoinedPairwise) {
  std::vector<double> x(3 * kReductionBlock, 0.0);
  x[0] = 1e17, x[kReductionBlock] = -1e17, x[2 * kReductionBlock] = 1;
  EXPECT_EQ(strictRowSum(x.data(), x.size()), 1.0);
  EXPECT_EQ(strictRowSum(x.data(), 0), 0.0);
}

TEST(ReductionTree, ASumIsNeverNegativeZero) {
  const float negative[] = {-0.0f, -0.0f};
  EXPECT_FALSE(std::signbit(strictSum(negative, 2)));
  EXPECT_FALSE(std::signbit(strictRowSum(negative, 2)));
  const float tiny[] = {-0x1p-149f}; // the exact product rounds to -0
  EXPECT_FALSE(std::signbit(strictDot(tiny, tiny + 0, 0)));
  const float other[] = {0x1p-149f};
  EXPECT_FALSE(std::signbit(strictDot(tiny, other, 1)));
}
