#include "core/metadata/KernelMetadata.h"
#include <climits>
#include <gtest/gtest.h>

using tessera::IndexExpr;

namespace {

const std::vector<std::string> kNames = {"M", "N", "k", "B*H", "min"};
constexpr int64_t kSlots[] = {10, -7, 3, 24, 5};

int64_t valueOf(std::string_view text) {
  IndexExpr e;
  std::string why;
  EXPECT_TRUE(IndexExpr::parse(text, kNames, e, why)) << text << ": " << why;
  int64_t out = 0;
  EXPECT_TRUE(e.evaluate(kSlots, out)) << text;
  return out;
}

std::string errorOf(std::string_view text) {
  IndexExpr e;
  std::string why;
  EXPECT_FALSE(IndexExpr::parse(text, kNames, e, why)) << text;
  return why;
}

bool evaluates(std::string_view text) {
  IndexExpr e;
  std::string why;
  EXPECT_TRUE(IndexExpr::parse(text, kNames, e, why)) << text << ": " << why;
  int64_t out = 0;
  return e.evaluate(kSlots, out);
}

TEST(IndexExpr, Arithmetic) {
  EXPECT_EQ(valueOf("42"), 42);
  EXPECT_EQ(valueOf("M + N * k"), 10 - 21);
  EXPECT_EQ(valueOf("(M + N) * k"), 9);
  EXPECT_EQ(valueOf("M - N - k"), 14);
  EXPECT_EQ(valueOf("--M"), 10);
  EXPECT_EQ(valueOf("-M * -k"), 30);
  EXPECT_EQ(valueOf("max(M, N) - ceildiv(M, 4)"), 7);
}

TEST(IndexExpr, DivisionRoundsDownAndUp) {
  EXPECT_EQ(valueOf("floordiv(N, 2)"), -4);
  EXPECT_EQ(valueOf("floordiv(M, -3)"), -4);
  EXPECT_EQ(valueOf("ceildiv(N, 2)"), -3);
  EXPECT_EQ(valueOf("ceildiv(M, 3)"), 4);
  EXPECT_EQ(valueOf("ceildiv(0, 64)"), 0);
  EXPECT_EQ(valueOf("mod(N, 3)"), 2);
  EXPECT_EQ(valueOf("mod(M, -3)"), -2);
  EXPECT_EQ(valueOf("mod(-9223372036854775807 - 1, -1)"), 0);
}

/// A dim may have the name of a function. A name with parentheses is the function, in every position.
TEST(IndexExpr, NamesOfFunctionsAreFree) {
  for (const char *function : {"floordiv", "mod", "ceildiv", "min", "max"}) {
    const std::string name = function;
    const std::vector<std::string> names = {"M", name, "M*" + name, name + "*M"};
    const int64_t slots[] = {10, 3, 30, 31};
    auto value = [&](const std::string &text, const std::vector<std::string> &known) {
      IndexExpr e;
      std::string why;
      EXPECT_TRUE(IndexExpr::parse(text, known, e, why)) << text << ": " << why;
      int64_t out = 0;
      EXPECT_TRUE(e.evaluate(slots, out)) << text;
      return out;
    };
    const int64_t plain = value(name + "(M, 4)", {"M"});
    EXPECT_EQ(value(name + "(M, 4)", names), plain);
    EXPECT_EQ(value(name + " (M, 4)", names), plain) << "a blank before the parenthesis";
    EXPECT_EQ(value("2*" + name + "(M, 4)", names), 2 * plain);
    EXPECT_EQ(value(name + " + 1", names), 4);
    EXPECT_EQ(value("(" + name + ")", names), 3);
    EXPECT_EQ(value("M*" + name, names), 30);
    EXPECT_EQ(value("M*" + name + "(M, 4)", names), 10 * plain) << "no product dim before a parenthesis";
    EXPECT_EQ(value(name + "*M", names), 31);
    EXPECT_EQ(value(name + "(" + name + ", " + name + ")", names), value(name + "(3, 3)", names));
  }
}

TEST(IndexExpr, ProductDimIsOneName) {
  EXPECT_EQ(valueOf("B*H"), 24);
  EXPECT_EQ(valueOf("2*B*H+1"), 49);
  EXPECT_EQ(errorOf("B*Hx"), "unknown name 'B' at column 1");
}

TEST(IndexExpr, NamesShadowFunctions) { EXPECT_EQ(valueOf("min + max(1, 2)"), 7); }

TEST(IndexExpr, OverflowAndDivisionByZeroAreReported) {
  EXPECT_FALSE(evaluates("9223372036854775807 + 1"));
  EXPECT_FALSE(evaluates("9223372036854775807 * 2"));
  EXPECT_FALSE(evaluates("-9223372036854775807 - 2"));
  EXPECT_FALSE(evaluates("-(-9223372036854775807 - 1)"));
  EXPECT_FALSE(evaluates("floordiv(-9223372036854775807 - 1, -1)"));
  EXPECT_FALSE(evaluates("ceildiv(-9223372036854775807 - 1, -1)"));
  EXPECT_FALSE(evaluates("floordiv(M, 0)"));
  EXPECT_FALSE(evaluates("ceildiv(M, 0)"));
  EXPECT_FALSE(evaluates("mod(M, M - 10)"));
  IndexExpr empty;
  int64_t out;
  EXPECT_FALSE(empty.evaluate(kSlots, out));
}

TEST(IndexExpr, SyntaxErrorsNameTheColumn) {
  EXPECT_EQ(errorOf(""), "expected a number, a name or '(' at column 1, found the end");
  EXPECT_EQ(errorOf("M +"), "expected a number, a name or '(' at column 4, found the end");
  EXPECT_EQ(errorOf("M N"), "expected an operator at column 3, found 'N'");
  EXPECT_EQ(errorOf("(M"), "expected ')' at column 3, found the end");
  EXPECT_EQ(errorOf("ceildiv M"), "expected '(' at column 9, found 'M'");
  EXPECT_EQ(errorOf("ceildiv(M)"), "expected ',' at column 10, found ')'");
  EXPECT_EQ(errorOf("ceildiv(M, 2"), "expected ')' at column 13, found the end");
  EXPECT_EQ(errorOf("M / 2"), "expected an operator at column 3, found '/'");
  EXPECT_EQ(errorOf("Q"), "unknown name 'Q' at column 1");
  EXPECT_EQ(errorOf("9223372036854775808"), "number at column 1 needs more than 64 bits");
}

TEST(IndexExpr, ExcessiveSizesAreRefused) {
  EXPECT_EQ(errorOf(std::string(1000, '(') + "1"), "expression is nested too deeply");
  EXPECT_EQ(errorOf(std::string(1000, '-') + "1"), "expression is nested too deeply");
  EXPECT_EQ(errorOf(std::string(5000, ' ') + "1"), "expression is longer than 4096 characters");
  std::string stacked; // right-nested sums keep every left operand on the stack
  for (int i = 0; i < 30; ++i)
    stacked += "1+2*(";
  EXPECT_EQ(valueOf(stacked + "1" + std::string(30, ')')), (int64_t{1} << 31) - 1 + 0 * INT_MAX);
  std::string tooMuch;
  for (int i = 0; i < 31; ++i)
    tooMuch += "max(1+2*3, 1+2*(";
  EXPECT_EQ(errorOf(tooMuch), "expression is nested too deeply");
}

} // namespace
