#include "compiler/frontend/program/DimExpr.h"
#include <gtest/gtest.h>

namespace tessera::frontend::test {
namespace {

const DimExpr M = DimExpr::symbol("M"), N = DimExpr::symbol("N"), K = DimExpr::symbol("K");

std::string text(const std::optional<DimExpr> &d) { return d ? d->text() : "nothing"; }

TEST(DimExpr, HasOneFormPerPolynomial) {
  EXPECT_EQ(text(multiply(M, N)), text(multiply(N, M)));
  EXPECT_EQ(text(multiply(*add(M, 1), N)), "M*N + N");
  EXPECT_EQ(text(subtract(*add(M, N), M)), "N");
  EXPECT_EQ(text(subtract(M, M)), "0");
  EXPECT_EQ(text(subtract(*subtract(N, M), 1)), "N - M - 1");
  EXPECT_EQ(text(subtract(DimExpr(0), M)), "-M");
  EXPECT_EQ(text(multiply(M, 4)), "4*M");
  EXPECT_EQ(multiply(M, 0)->constant(), 0);
  EXPECT_EQ(multiply(M, 0)->dim().symbol, "");
}

TEST(DimExpr, DividesWhereTheDivisorIsAFactor) {
  EXPECT_EQ(text(divideExactly(*multiply(*multiply(M, N), 6), *multiply(N, 2))), "3*M");
  EXPECT_EQ(text(divideExactly(*multiply(*add(M, 1), *add(N, K)), *add(N, K))), "M + 1");
  EXPECT_EQ(text(divideExactly(M, N)), "nothing");
  EXPECT_EQ(text(divideExactly(M, 2)), "nothing");
  EXPECT_EQ(text(divideExactly(M, 0)), "nothing");
  EXPECT_EQ(text(divideExactly(DimExpr(0), M)), "0");
  EXPECT_EQ(text(divideExactly(DimExpr(INT64_MIN), -1)), "nothing");
}

TEST(DimExpr, KeepsWhatItCannotFoldOpaque) {
  EXPECT_EQ(text(apply("floordiv", *add(M, 63), 64)), "floordiv(M + 63, 64)");
  EXPECT_EQ(text(apply("floordiv", *multiply(M, 4), 2)), "2*M");
  EXPECT_EQ(text(apply("mod", *multiply(M, 4), 2)), "0");
  EXPECT_EQ(text(apply("floordiv", DimExpr(-7), 2)), "-4");
  EXPECT_EQ(text(apply("mod", DimExpr(-7), 2)), "1");
  EXPECT_EQ(text(apply("floordiv", M, 0)), "nothing");
  EXPECT_EQ(text(apply("min", N, M)), text(apply("min", M, N)));
  EXPECT_EQ(text(apply("max", DimExpr(3), 5)), "5");
}

TEST(DimExpr, GivesUpRatherThanOverflowOrGrow) {
  EXPECT_FALSE(add(DimExpr(INT64_MAX), 1));
  EXPECT_FALSE(multiply(*multiply(M, INT64_MAX), 2));
  std::optional<DimExpr> power = M;
  for (int i = 0; i < 10 && power; ++i)
    power = multiply(*power, M);
  EXPECT_FALSE(power);
  // An index expression is read with at most 32 nested parentheses and signs.
  std::optional<DimExpr> nested = M;
  int depth = 0;
  while (depth < 100 && (nested = add(*nested, 1)) && (nested = apply("mod", *nested, 7)))
    ++depth;
  EXPECT_EQ(depth, 30);
}

} // namespace
} // namespace tessera::frontend::test
