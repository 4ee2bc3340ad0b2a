#include "numerics/NumericsProfile.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(NumericsProfile, NamesRoundTripAndOrderIsTheEnumeration) {
  uint8_t index = 0;
  for (const NumericsPermissions &row : allNumericsProfiles()) {
    EXPECT_EQ(static_cast<uint8_t>(row.profile), index++);
    EXPECT_EQ(parseNumericsProfile(row.name), row.profile);
    EXPECT_EQ(&permissions(row.profile), &row);
  }
  EXPECT_EQ(index, 4);
  EXPECT_FALSE(parseNumericsProfile("Strict"));
  EXPECT_FALSE(parseNumericsProfile(""));
}

TEST(NumericsProfile, OnlyStrictFixesTheTree) {
  EXPECT_TRUE(permissions(NumericsProfile::Strict).fixedReductions);
  EXPECT_FALSE(permissions(NumericsProfile::Strict).contraction);
  EXPECT_FALSE(permissions(NumericsProfile::Deterministic).fixedReductions);
  EXPECT_FALSE(permissions(NumericsProfile::Deterministic).unorderedAtomics);
  EXPECT_TRUE(permissions(NumericsProfile::Standard).contraction);
  EXPECT_FALSE(permissions(NumericsProfile::Standard).reassociation);
  EXPECT_TRUE(permissions(NumericsProfile::Fast).reassociation);
}
