#include "numerics/NumericsProfile.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::ElementsAre;

TEST(NumericsProfile, TheBuiltInOnesAreFoundByName) {
  std::vector<std::string> names;
  for (const BuiltinProfile &row : builtinProfiles()) {
    names.emplace_back(row.name);
    EXPECT_EQ(builtinProfile(row.name), &row.permits);
    EXPECT_TRUE(isProfileName(row.name));
  }
  EXPECT_THAT(names, ElementsAre("fast", "standard", "deterministic", "strict"));
  EXPECT_EQ(builtinProfile("Strict"), nullptr);
  EXPECT_EQ(builtinProfile(""), nullptr);
}

TEST(NumericsProfile, OnlyStrictFixesTheTree) {
  EXPECT_TRUE(builtinProfile("strict")->fixedReductions);
  EXPECT_FALSE(builtinProfile("strict")->contraction);
  EXPECT_FALSE(builtinProfile("deterministic")->fixedReductions);
  EXPECT_FALSE(builtinProfile("deterministic")->unorderedAtomics);
  EXPECT_FALSE(builtinProfile("deterministic")->libraryCalls());
  EXPECT_TRUE(builtinProfile("standard")->contraction);
  EXPECT_TRUE(builtinProfile("standard")->libraryCalls());
  EXPECT_FALSE(builtinProfile("standard")->reassociation);
  EXPECT_TRUE(builtinProfile("fast")->reassociation);
}

TEST(NumericsProfile, PermissionNamesRoundTrip) {
  EXPECT_THAT(permissionNames(*builtinProfile("standard")), ElementsAre("contraction", "unordered_atomics"));
  NumericsPermissions back;
  std::string unknown;
  for (const BuiltinProfile &row : builtinProfiles()) {
    ASSERT_TRUE(parsePermissions(permissionNames(row.permits), back, unknown));
    EXPECT_EQ(back, row.permits);
  }
  EXPECT_FALSE(parsePermissions({"contraction", "magic"}, back, unknown));
  EXPECT_EQ(unknown, "magic");
}

TEST(NumericsProfile, NamesAreLowerCase) {
  for (const char *good : {"a", "my-profile_2"})
    EXPECT_TRUE(isProfileName(good)) << good;
  for (const char *bad : {"", "2a", "A", "a b", "a\"", "-a"})
    EXPECT_FALSE(isProfileName(bad)) << bad;
  EXPECT_FALSE(isProfileName(std::string(65, 'a')));
}
