#include "compiler/frontend/Linear.h"
#include <gtest/gtest.h>

namespace tessera::frontend::test {
namespace {

TEST(Linear, TermsCancel) {
  AtomTable atoms;
  int x = atoms.intern("x", {}, false), y = atoms.intern("y", {}, false);
  Linear start = *add(AtomTable::of(x), *scale(AtomTable::of(y), 4));
  Linear stop = *add(start, Linear{{}, 64});
  EXPECT_EQ(subtract(stop, start)->constant, 64);
  EXPECT_TRUE(subtract(stop, start)->isConstant());
  EXPECT_FALSE(subtract(stop, AtomTable::of(x))->isConstant());
}

TEST(Linear, OverflowGivesNothing) {
  Linear big{{}, INT64_MAX};
  EXPECT_FALSE(add(big, Linear{{}, 1}));
  EXPECT_FALSE(scale(big, 2));
  EXPECT_FALSE(subtract(Linear{{}, INT64_MIN}, Linear{{}, 1}));
}

TEST(Linear, EqualOperationsGiveEqualAtoms) {
  AtomTable atoms;
  Linear x = AtomTable::of(atoms.intern("x", {"M"}, true)), y = AtomTable::of(atoms.intern("y", {"N"}, true));
  EXPECT_EQ(*atoms.apply("mul", x, y), *atoms.apply("mul", y, x));
  EXPECT_NE(*atoms.apply("fdiv", x, y), *atoms.apply("fdiv", y, x));
  int product = atoms.apply("mul", x, y)->terms.begin()->first;
  EXPECT_EQ(atoms.dims(product), (std::set<std::string>{"M", "N"}));
  EXPECT_TRUE(atoms.fixed(product));
}

} // namespace
} // namespace tessera::frontend::test
