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
  EXPECT_EQ(text(apply("floordiv", *add(M, 63), 64)), "(M + 63) // 64");
  EXPECT_EQ(text(apply("floordiv", *multiply(M, 4), 2)), "2*M");
  EXPECT_EQ(text(apply("mod", *multiply(M, 4), 2)), "0");
  EXPECT_EQ(text(apply("floordiv", DimExpr(-7), 2)), "-4");
  EXPECT_EQ(text(apply("mod", DimExpr(-7), 2)), "1");
  EXPECT_EQ(text(apply("floordiv", M, 0)), "nothing");
  auto half = [](const DimExpr &d) { return *apply("floordiv", d, 2); };
  auto rest = [](const DimExpr &d) { return *apply("mod", d, 4); };
  EXPECT_EQ(text(add(half(M), 1)), "M // 2 + 1");
  EXPECT_EQ(text(subtract(N, half(M))), "N - M // 2");
  EXPECT_EQ(text(subtract(DimExpr(0), rest(M))), "-(M % 4)");
  EXPECT_EQ(text(multiply(half(M), 3)), "3*(M // 2)");
  EXPECT_EQ(text(multiply(half(M), N)), "(M // 2)*N");
  EXPECT_EQ(text(apply("mod", half(M), *multiply(N, 2))), "(M // 2) % (2*N)");
  EXPECT_EQ(text(apply("floordiv", *apply("min", M, N), M)), "min(M, N) // M");
  EXPECT_EQ(text(apply("floordiv", *subtract(DimExpr(0), M), *subtract(DimExpr(0), N))), "(-M) // (-N)");
  for (const DimExpr &d : {half(M), rest(half(M)), *multiply(half(M), N), *subtract(DimExpr(1), rest(N))})
    EXPECT_EQ(*extentOf(*IndexExpr::parse(d.text()), [](const std::string &s) { return DimExpr::symbol(s); }),
              d);
  EXPECT_EQ(text(apply("min", N, M)), text(apply("min", M, N)));
  EXPECT_EQ(text(apply("max", DimExpr(3), 5)), "5");
}

std::string extent(const std::string &text) {
  tessera::Expected<IndexExpr> expr = IndexExpr::parse(text);
  if (!expr) return expr.error().message;
  return frontend::test::text(extentOf(*expr, [](const std::string &dim) { return DimExpr::symbol(dim); }));
}

TEST(DimExpr, ReadsIndexExpressions) {
  EXPECT_EQ(extent("1 + n"), "n + 1");
  EXPECT_EQ(extent("2*K"), "2*K");
  EXPECT_EQ(extent("K*2"), "2*K");
  EXPECT_EQ(extent("2*B*H + B*3*H"), "5*B*H");
  EXPECT_EQ(extent("(n + 1)//2"), "(n + 1) // 2");
  EXPECT_EQ(extent("ceildiv(n, 4)"), "(n + 3) // 4");
  EXPECT_EQ(extent("ceildiv(4*n, 4)"), "n");
  EXPECT_EQ(extent("(6*n + 4*m + 13) // 4"), "(6*n + 13) // 4 + m");
  EXPECT_EQ(extent("(8*n - 1) // 4"), "2*n - 1");
  EXPECT_EQ(extent("(3 - 4*n) // -4"), "n - 1");
  EXPECT_EQ(extent("(4*n + m + 8) % 4"), "m % 4");
  EXPECT_EQ(extent("(4*n - 1) % 4"), "3");
  EXPECT_EQ(extent("4*n % 2 + max(n, m)"), "max(m, n)");
  EXPECT_EQ(extent("-n + min(3, 2)"), "2 - n");
  EXPECT_EQ(extent("n - n + 4"), "4");
  EXPECT_EQ(extent("n // 0"), "nothing");
  EXPECT_EQ(extent("9223372036854775807*2*n"), "nothing");
  EXPECT_EQ(dimsIn(*IndexExpr::parse("2*B*H + n*2 + n")), (std::vector<std::string>{"B*H", "n"}));
}

TEST(DimExpr, DimsOfAFunctionDecideWhatAProductIs) {
  auto values = [](const std::string &dim) { return std::optional(DimExpr::symbol("my_" + dim)); };
  auto of = [&](const Dim &d, const std::vector<std::string> &dims) {
    return text(extentOf(d, dims, values));
  };
  EXPECT_EQ(of({7, ""}, {}), "7");
  EXPECT_EQ(of({1, "B*H + H"}, {"B", "H"}), "my_B*my_H + my_H");
  EXPECT_EQ(of({1, "B*H + H"}, {"B*H", "H"}), "my_B*H + my_H");
  EXPECT_EQ(of({1, "B*H + H"}, {"H"}), "nothing");
  EXPECT_EQ(dimsIn(Dim{1, "3*H + B*H"}, {"B", "H"}), (std::vector<std::string>{"H", "B"}));
  EXPECT_EQ(dimsIn(Dim{7, ""}, {"n"}), std::vector<std::string>());
}

TEST(DimExpr, FindsLinearForms) {
  auto form = [](const std::optional<DimExpr> &d) {
    auto linear = d->linearIn("M");
    return linear ? linear->factor.text() + "; " + linear->offset.text() : "not";
  };
  EXPECT_EQ(form(M), "1; 0");
  EXPECT_EQ(form(*add(*multiply(*multiply(M, N), 2), *subtract(K, 1))), "2*N; K - 1");
  EXPECT_EQ(form(N), "0; N");
  EXPECT_EQ(form(*multiply(M, M)), "not");
  EXPECT_EQ(form(*apply("floordiv", M, 2)), "not");
  EXPECT_EQ(form(*apply("mod", M, 3)), "not");
  EXPECT_EQ(form(*multiply(M, *apply("max", M, 3))), "not");
  EXPECT_EQ(form(*add(M, *apply("max", N, 3))), "1; max(3, N)");
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
