// The known-answer vectors of Random123 for philox4x32 with ten rounds (kat_vectors).
#include "numerics/Philox.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformTakesTheTopBitsOfTheFirstWord) {
  EXPECT_EQ(philoxUniform(0, 0), static_cast<float>(0x6627e8) * 0x1p-24f);
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    float u = philoxUniform(42, i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

TEST(Philox, AllSixtyFourBitsOfSeedAndOffsetMatter) {
  EXPECT_NE(philoxUniform(1, 0), philoxUniform(1 + (uint64_t(1) << 32), 0));
  EXPECT_NE(philoxUniform(0, 1), philoxUniform(0, 1 + (uint64_t(1) << 32)));
}
