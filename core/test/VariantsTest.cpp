// Conditions of variants, and the choice between them.
#include "core/metadata/Variants.h"
#include "core/metadata/KernelMetadata.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

const std::vector<std::string> kNames = {"N", "", "k"};

bool holds(const std::string &text, int64_t N, int64_t k = 0) {
  Expected<Guard> guard = Guard::parse(text, kNames);
  EXPECT_TRUE(guard) << text;
  const int64_t slots[] = {N, 0, k};
  return guard && guard->holds(slots);
}

std::string errorOf(const std::string &text) {
  Expected<Guard> guard = Guard::parse(text, kNames);
  EXPECT_FALSE(guard) << text;
  return guard ? "" : guard.error().message;
}

TEST(Guard, Compares) {
  EXPECT_TRUE(holds("N == 1000", 1000));
  EXPECT_FALSE(holds("N == 1000", 1001));
  EXPECT_TRUE(holds("N != 1", 2));
  EXPECT_FALSE(holds("N != 1", 1));
  EXPECT_TRUE(holds("N <= 64", 64));
  EXPECT_FALSE(holds("N <= 64", 65));
  EXPECT_TRUE(holds("N >= 64", 64));
  EXPECT_FALSE(holds("N >= 64", 63));
  EXPECT_TRUE(holds("N < 64", 63));
  EXPECT_FALSE(holds("N < 64", 64));
  EXPECT_TRUE(holds("N > 64", 65));
  EXPECT_FALSE(holds("N > 64", 64));
  EXPECT_TRUE(holds("N % 4 == 0", 8));
  EXPECT_FALSE(holds("N % 4 == 0", 9));
  EXPECT_TRUE(holds("2*N + k >= ceildiv(N, 2) - 3", 1, -4));
}

TEST(Guard, ASideWithoutAValueDoesNotHold) {
  for (const char *comparison : {"==", "!=", "<=", ">=", "<", ">"}) {
    EXPECT_FALSE(holds(std::string("N // k ") + comparison + " 0", 1, 0)) << comparison;
    EXPECT_FALSE(holds(std::string("0 ") + comparison + " N * k", INT64_MAX, 2)) << comparison;
  }
}

TEST(Guard, RefusesOtherTexts) {
  EXPECT_EQ(errorOf("N"), "'N': expected a comparison such as N == 64");
  EXPECT_EQ(errorOf(""), "'': expected a comparison such as N == 64");
  EXPECT_NE(errorOf("N == 1 == 1"), "");
  EXPECT_NE(errorOf("N == "), "");
  EXPECT_NE(errorOf("N = 1"), "");
  EXPECT_EQ(errorOf("M == 1"), "'M == 1': unknown name 'M' at column 1");
}

TEST(Guard, IsTheValueOfAName) {
  auto valueOf = [](const char *text) {
    Expected<Guard> guard = Guard::parse(text, kNames);
    EXPECT_TRUE(static_cast<bool>(guard)) << text;
    return guard->asValue();
  };
  EXPECT_EQ(valueOf("k == 7"), std::pair(size_t{2}, int64_t{7}));
  for (const char *text : {"k <= 7", "k + 0 == 7", "7 == k", "k == N"})
    EXPECT_EQ(valueOf(text), std::nullopt) << text;
}

TEST(VariantGuards, TheFirstThatHoldsIsChosen) {
  KernelMetadata m;
  m.params.resize(2);
  m.params[0].name = "x";
  m.params[1].name = "N";
  m.params[1].kind = MetadataParam::Kind::Dim;
  m.variants = {{"f.v0", {"N == 8"}}, {"f.v1", {"N % 4 == 0", "N <= 64"}}};
  Expected<VariantGuards> guards = VariantGuards::of(m);
  ASSERT_TRUE(guards);
  auto choose = [&](int64_t N) {
    const int64_t slots[] = {0, N};
    return guards->choose(slots);
  };
  EXPECT_EQ(choose(8), 0u);
  EXPECT_EQ(choose(12), 1u);
  EXPECT_EQ(choose(68), std::nullopt);
  EXPECT_EQ(choose(9), std::nullopt);
  EXPECT_TRUE(guards->fixes(0, 1, 8));
  EXPECT_FALSE(guards->fixes(0, 1, 9));
  EXPECT_FALSE(guards->fixes(1, 1, 8));
  m.variants[1].when = {"x == 1"}; // no integer
  Expected<VariantGuards> wrong = VariantGuards::of(m);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "'x == 1': unknown name 'x' at column 1");
}

} // namespace
