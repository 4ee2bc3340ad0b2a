#include "tools/tune/Space.h"
#include <gtest/gtest.h>
#include <set>

namespace tessera::tune {
namespace {

Signature kernel(std::vector<std::pair<std::string, std::vector<int64_t>>> tunables) {
  Signature s;
  s.kernel = "k";
  s.tunables = std::move(tunables);
  return s;
}

TEST(Space, HasEveryCombinationAndTheDefaultFirst) {
  Expected<std::vector<Configuration>> space =
      configurationsOf(kernel({{"A", {96, 48, 192}}, {"B", {2}}, {"C", {0, 1}}}));
  ASSERT_TRUE(space);
  EXPECT_EQ(textOf((*space)[0].values), "A=96 B=2 C=0");
  std::set<std::string> texts;
  for (const Configuration &c : *space)
    texts.insert(textOf(c.values));
  EXPECT_EQ(texts.size(), 6u);
  EXPECT_TRUE(texts.contains("A=192 B=2 C=1"));
}

TEST(Space, WithoutTunablesThereIsNothingToChoose) {
  Expected<std::vector<Configuration>> space = configurationsOf(kernel({}));
  ASSERT_FALSE(space);
  EXPECT_EQ(space.error().code, "E_TUNE_EMPTY");
}

TEST(Space, IsLimited) {
  std::vector<int64_t> values(64);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int64_t>(i);
  EXPECT_TRUE(configurationsOf(kernel({{"A", values}, {"B", values}})));
  Expected<std::vector<Configuration>> space =
      configurationsOf(kernel({{"A", values}, {"B", values}, {"C", {1, 2}}}));
  ASSERT_FALSE(space);
  EXPECT_EQ(space.error().code, "E_TUNE_SPACE");
}

TEST(Space, ReadsTheTextOfValues) {
  const NamedValues values = {{"BLOCK_M", 96}, {"X", -3}};
  EXPECT_EQ(valuesOf(textOf(values)), values);
  for (const char *text : {"", "A", "=1", "A=", "A=x", "A=1 B", "A=99999999999999999999"})
    EXPECT_TRUE(valuesOf(text).empty()) << text;
}

} // namespace
} // namespace tessera::tune
