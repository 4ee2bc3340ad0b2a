#include "compiler/frontend/program/Linear.h"
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

TEST(Linear, FormsOfNarrowIntegersAreModuloTheirWidth) {
  AtomTable atoms;
  Linear x = AtomTable::of(atoms.intern("x", {"M"}, true, DType::I8)), twice = *scale(x, 2);
  EXPECT_EQ(*atoms.exact(twice, DType::I64), twice);
  EXPECT_EQ(*atoms.exact(x, DType::I8), x);         // its own value
  EXPECT_NE(*atoms.exact(x, DType::U8), x);         // 255 where x is -1
  EXPECT_NE(*atoms.exact(twice, DType::I8), twice); // wraps
  EXPECT_EQ(*atoms.exact(twice, DType::I8), *atoms.exact(twice, DType::I8));
  EXPECT_NE(*atoms.exact(twice, DType::I8), *atoms.exact(twice, DType::I16));
  EXPECT_EQ(atoms.exact(Linear{{}, 300}, DType::U8)->constant, 44);
  EXPECT_EQ(atoms.exact(Linear{{}, 200}, DType::I8)->constant, -56);
  int wrapped = atoms.exact(twice, DType::I8)->terms.begin()->first;
  EXPECT_EQ(atoms.dims(wrapped), (std::set<std::string>{"M"}));
}

} // namespace
} // namespace tessera::frontend::test
