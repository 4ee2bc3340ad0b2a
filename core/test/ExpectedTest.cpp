#include "core/support/Expected.h"
#include <gtest/gtest.h>
#include <memory>

namespace tessera {
namespace {

Expected<int> half(int n) {
  if (n % 2) return Error{"E_ODD", std::to_string(n) + " is odd", "give an even number"};
  return n / 2;
}

MaybeError positive(int n) {
  if (n > 0) return std::nullopt;
  return Error{"E_SIGN", "not above 0", ""};
}

TEST(Expected, HoldsAValue) {
  auto found = half(8);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(*found, 4);
  *found = 5;
  EXPECT_EQ(*found, 5);
}

TEST(Expected, HoldsAnError) {
  auto found = half(7);
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(found.error().code, "E_ODD");
  EXPECT_EQ(found.error().message, "7 is odd");
  EXPECT_EQ(found.error().hint, "give an even number");
}

TEST(Expected, ANullPointerIsAValue) {
  Expected<int *> found(nullptr);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(*found, nullptr);
}

TEST(Expected, AStringIsAValueNotAnError) {
  Expected<std::string> found(std::string("E_ODD"));
  EXPECT_TRUE(bool(found));
}

TEST(Expected, MovesWhatCannotBeCopied) {
  auto make = [](bool ok) -> Expected<std::unique_ptr<int>> {
    if (!ok) return Error{"E", "", ""};
    return std::make_unique<int>(3);
  };
  auto found = make(true);
  ASSERT_TRUE(bool(found));
  std::unique_ptr<int> taken = std::move(*found);
  EXPECT_EQ(*taken, 3);
  EXPECT_FALSE(bool(make(false)));
}

TEST(Expected, ReachesMembersOfItsValue) {
  Expected<std::string> found(std::string("abc"));
  EXPECT_EQ(found->size(), 3u);
}

TEST(MaybeError, IsSetOnFailureOnly) {
  EXPECT_FALSE(positive(1));
  auto error = positive(0);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "E_SIGN");
}

#ifndef NDEBUG
TEST(ExpectedDeathTest, AccessingTheMissingSideAborts) {
  EXPECT_DEATH((void)half(2).error(), "there is a value");
  EXPECT_DEATH((void)*half(1), "there is an error");
}
#endif

} // namespace
} // namespace tessera
