#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/test/Trials.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace tessera::layout {
namespace {

using Random = std::mt19937_64;

LinearLayout randomLayout(Random &random, unsigned inputs, unsigned outputs) {
  BitsList bases(inputs);
  for (Bits &b : bases)
    b = outputs ? random() >> (64 - outputs) : 0;
  return {bases, outputs};
}

/// A product of elementary row operations and a permutation.
LinearLayout randomBijection(Random &random, unsigned bits) {
  BitsList bases = unitVectors(bits);
  std::shuffle(bases.begin(), bases.end(), random);
  for (unsigned i = 0; bits > 1 && i < 3 * bits; ++i) {
    size_t from = random() % bits, to = random() % bits;
    if (from != to) bases[to] ^= bases[from];
  }
  return {bases, bits};
}

TEST(LinearLayout, CountsItsImages) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    LinearLayout f = randomLayout(random, random() % 9, random() % 9);
    std::set<Bits> images;
    for (Bits x = 0; x < Bits(1) << f.inputBits(); ++x) {
      Bits image = 0;
      for (unsigned bit = 0; bit < f.inputBits(); ++bit)
        if (x >> bit & 1) image ^= f.bases()[bit];
      EXPECT_EQ(f(x), image);
      images.insert(image);
    }
    EXPECT_EQ(images.size(), size_t(1) << f.rank());
    EXPECT_EQ(f.isOnto(), images.size() == size_t(1) << f.outputBits());
    EXPECT_EQ(f.isInjective(), images.size() == size_t(1) << f.inputBits());
  }
}

TEST(LinearLayout, KeepsTheLaws) {
  Random random(2);
  size_t onto = 0;
  for (int i = 0; i < trials(100'000); ++i) {
    const unsigned n = random() % 21, m = random() % 21, k = random() % 21;
    const LinearLayout bijection = randomBijection(random, n), other = randomBijection(random, n);
    const LinearLayout inverse = *bijection.inverse(), identity = LinearLayout::identity(n);
    ASSERT_EQ(bijection.compose(inverse), identity);
    ASSERT_EQ(inverse.compose(bijection), identity);
    ASSERT_EQ(*bijection.compose(other).inverse(), other.inverse()->compose(inverse));
    const LinearLayout f = randomLayout(random, n, m), g = randomLayout(random, m, k);
    const Bits x = n ? random() >> (64 - n) : 0, y = n ? random() >> (64 - n) : 0;
    ASSERT_EQ(g.compose(f)(x), g(f(x)));
    ASSERT_EQ(f(x) ^ f(y), f(x ^ y));
    const LinearLayout pair = f.product(g);
    const Bits z = m ? random() >> (64 - m) : 0;
    ASSERT_EQ(pair(x | z << n), f(x) | g(z) << m);
    ASSERT_EQ(pair.divide(f), g);
    ASSERT_EQ(pair.product(bijection).divide(pair), bijection);
    if (f.isOnto()) {
      ++onto;
      ASSERT_EQ(f.compose(*f.rightInverse()), LinearLayout::identity(m));
    } else {
      ASSERT_EQ(f.rightInverse(), std::nullopt);
    }
    if (!f.isInjective() || !f.isOnto()) {
      ASSERT_EQ(f.inverse(), std::nullopt);
    }
  }
  EXPECT_GT(onto, size_t(trials(1000)));
}

TEST(LinearLayout, IsDividedOnlyByItsFactors) {
  const LinearLayout f({1, 2, 4}, 3);
  EXPECT_EQ(f.divide(LinearLayout({1}, 1)), LinearLayout({1, 2}, 2));
  EXPECT_EQ(f.divide(LinearLayout({2}, 2)), std::nullopt);
  EXPECT_EQ(LinearLayout({1, 3}, 2).divide(LinearLayout({1}, 1)),
            std::nullopt); // the quotient touches its bit
  EXPECT_EQ(f.divide(LinearLayout::identity(4)), std::nullopt);
}

TEST(Span, SolvesAndIntersects) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    auto some = [&] {
      BitsList vectors(random() % 7);
      for (Bits &v : vectors)
        v = random() % 64;
      return vectors;
    };
    const BitsList a = some(), b = some();
    const Span span(a);
    EXPECT_EQ(span.rank() + span.kernel().size(), a.size());
    for (Bits combination : span.kernel())
      EXPECT_EQ(applyBases(a, combination), 0u);
    std::set<Bits> inA, inB, inBoth;
    for (Bits x = 0; x < Bits(1) << a.size(); ++x)
      inA.insert(applyBases(a, x));
    for (Bits x = 0; x < Bits(1) << b.size(); ++x)
      inB.insert(applyBases(b, x));
    std::set_intersection(inA.begin(), inA.end(), inB.begin(), inB.end(),
                          std::inserter(inBoth, inBoth.end()));
    for (Bits v = 0; v < 64; ++v) {
      EXPECT_EQ(span.contains(v), inA.contains(v));
      if (auto x = span.solve(v)) EXPECT_EQ(applyBases(a, *x), v);
      Bits least = v;
      for (Bits s : inA)
        least = std::min(least, v ^ s);
      EXPECT_EQ(span.reduce(v), least);
    }
    const BitsList common = intersection(a, b);
    EXPECT_EQ(size_t(1) << common.size(), inBoth.size());
    for (Bits v : common)
      EXPECT_TRUE(inBoth.contains(v));
    EXPECT_EQ(rank(common), common.size());
    EXPECT_EQ(independent(a).size(), rank(a));
  }
}

} // namespace
} // namespace tessera::layout
