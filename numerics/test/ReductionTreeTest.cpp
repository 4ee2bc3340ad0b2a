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
