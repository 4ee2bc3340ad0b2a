#include "core/metadata/IndexExpr.h"
#include "core/metadata/LinearForm.h"
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

TEST(IndexExpr, OperatorsOfQuotientsAndRemainders) {
  EXPECT_EQ(valueOf("N // 2"), -4);
  EXPECT_EQ(valueOf("N//2"), -4);
  EXPECT_EQ(valueOf("N % 3"), 2);
  EXPECT_EQ(valueOf("-N//2"), 3);
  EXPECT_EQ(valueOf("M % 4 + 1"), 3);
  EXPECT_EQ(valueOf("(M + 1)//2*k"), 15);
  // a product without blanks is a symbol, except after // and %
  EXPECT_EQ(valueOf("M//2*k"), 15);
  EXPECT_EQ(valueOf("M%4*k"), 6);
  EXPECT_EQ(valueOf("M//k*2"), 6);
  EXPECT_EQ(valueOf("100//-k*2"), -68);
  EXPECT_EQ(valueOf("B*H//5*2"), 8);
  EXPECT_EQ(valueOf("100 // (2*k)"), 16);
  EXPECT_EQ(valueOf("2*M//3"), 6);
  EXPECT_FALSE(evaluates("M // (M - 10)"));
  EXPECT_EQ(errorOf("M // "), "expected a number, a name or '(' at column 6, found the end");
  EXPECT_EQ(errorOf("M /// 2"), "expected a number, a name or '(' at column 5, found '/'");
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
  EXPECT_EQ(errorOf("ceildiv M"), "expected an operator at column 9, found 'M'");
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

IndexExpr parsed(std::string_view text) {
  tessera::Expected<IndexExpr> e = IndexExpr::parse(text);
  EXPECT_TRUE(e) << text;
  return e ? *e : IndexExpr();
}

/// What is printed is parsed to the same expression, with no parentheses that it does not need.
std::string linearIn(std::string_view text, size_t slot = 0) {
  IndexExpr e;
  std::string why;
  EXPECT_TRUE(IndexExpr::parse(text, kNames, e, why)) << text << ": " << why;
  auto form = tessera::linearForm(e, slot, kSlots);
  return form ? std::to_string(form->factor) + " " + std::to_string(form->offset) : "not";
}

TEST(IndexExpr, LinearForms) {
  EXPECT_EQ(linearIn("M"), "1 0");
  EXPECT_EQ(linearIn("M + 1"), "1 1");
  EXPECT_EQ(linearIn("1 - M"), "-1 1");
  EXPECT_EQ(linearIn("2*M"), "2 0");
  EXPECT_EQ(linearIn("k * (M - N) + M"), "4 21");
  EXPECT_EQ(linearIn("-(M + M)"), "-2 0");
  EXPECT_EQ(linearIn("N // 2"), "0 -4");
  EXPECT_EQ(linearIn("max(N, k) * M"), "3 0");
  EXPECT_EQ(linearIn("M - M"), "0 0");
  for (const char *text :
       {"M * M", "M // 2", "M % 7", "min(M, 3)", "max(M, 0)", "ceildiv(M, 4)", "7 // M", "N // 0"})
    EXPECT_EQ(linearIn(text), "not") << text;
  EXPECT_EQ(linearIn("M + 9223372036854775807"), "1 9223372036854775807");
  EXPECT_EQ(linearIn("M + 9223372036854775807 + 1"), "not");
  EXPECT_EQ(linearIn("4611686018427387904 * M * 2"), "not");
  EXPECT_EQ(linearIn("-(N - 9223372036854775807 - 1)"), "not");
  EXPECT_FALSE(tessera::linearForm(IndexExpr(), 0, kSlots));
}

TEST(IndexExpr, PrintsWhatItParses) {
  for (const char *text : {"42",
                           "-5",
                           "M",
                           "B*H",
                           "2*B*H",
                           "M + N - k",
                           "M - (N - k)",
                           "M - (N + k)",
                           "M * (N * k)",
                           "-(M + N)",
                           "-M * N",
                           "--M",
                           "M - -5",
                           "(M + N) * -k",
                           "4 * ceildiv(M*N, 64) - min(M, 2) % max(N, -3)",
                           "-9223372036854775807 - 1",
                           "ceildiv // 4",
                           "M * ceildiv(M, 4)",
                           "M // 2 + 1",
                           "(M + 1) // 2 * N",
                           "M * N // 2 % 3",
                           "M // (N // 2)",
                           "M * (N % 2)",
                           "-(M % 4)",
                           "-M % 4",
                           "M // -2",
                           "M*N // (2*N)",
                           "M // (M*N) * N",
                           "M % (-2*N)",
                           "M // min(2*N, 3)"}) {
    const IndexExpr e = parsed(text);
    EXPECT_EQ(e.text(), text);
    EXPECT_EQ(parsed(e.text()), e);
  }
  EXPECT_EQ(parsed(" ( M+(N) )*k ").text(), "(M + N) * k");
  EXPECT_EQ(parsed("mod(M, floordiv(N, 2*M)) ").text(), "M % (N // (2*M))");
  EXPECT_EQ(parsed("M+N"), parsed("M + N"));
  EXPECT_NE(parsed("M*N"), parsed("M * N")) << "a product symbol may be a dim of its own";
  EXPECT_EQ(IndexExpr().text(), "");
}

TEST(IndexExpr, BuiltExpressionsAreThoseOfTheirText) {
  using Code = IndexExpr::Code;
  IndexExpr distance = IndexExpr::binary(Code::Sub, IndexExpr::symbol("N"), parsed("M - 1"));
  IndexExpr count = IndexExpr::binary(Code::CeilDiv, distance, IndexExpr::constant(64));
  EXPECT_EQ(count.text(), "ceildiv(N - (M - 1), 64)");
  EXPECT_EQ(count, parsed(count.text()));
  EXPECT_EQ(count.symbols(), (std::vector<std::string>{"N", "M"}));
  EXPECT_EQ(count.ceilDivisor(), 64);
  EXPECT_EQ(distance.ceilDivisor(), std::nullopt);
  EXPECT_EQ(parsed("ceildiv(M, N)").ceilDivisor(), std::nullopt);
  EXPECT_EQ(IndexExpr::negate(IndexExpr::constant(3)).asConstant(), -3);
  EXPECT_EQ(IndexExpr::negate(IndexExpr::constant(INT64_MIN)).text(), "-(-9223372036854775807 - 1)");
  EXPECT_EQ(parsed("B*H").asSymbol(), "B*H");
  EXPECT_EQ(parsed("B * H").asSymbol(), "");
}

TEST(IndexExpr, ProductsOfSymbolsAreOneSymbol) {
  auto product = [](const std::vector<IndexExpr> &factors) {
    std::optional<IndexExpr> p = IndexExpr::product(factors);
    return p ? p->text() : "nothing";
  };
  EXPECT_EQ(product({}), "1");
  EXPECT_EQ(product({parsed("B"), parsed("4"), parsed("H"), parsed("2")}), "8*B*H");
  EXPECT_EQ(product({parsed("B"), parsed("H + 1"), parsed("N")}), "B*N * (H + 1)");
  EXPECT_EQ(product({parsed("3"), parsed("H + 1")}), "3 * (H + 1)");
  EXPECT_EQ(product({parsed("B"), parsed("0")}), "0");
  EXPECT_EQ(product({parsed("9223372036854775807"), parsed("2"), parsed("B")}), "nothing");
}

/// What the parser would refuse is found before it is printed.
TEST(IndexExpr, CheckTextAgreesWithTheParser) {
  IndexExpr nested = IndexExpr::symbol("M"), deep = nested, wide = nested;
  auto agree = [](const IndexExpr &e) {
    bool fits = !e.checkText();
    EXPECT_EQ(fits, static_cast<bool>(IndexExpr::parse(e.text()))) << e.text();
    return fits;
  };
  int signs = 0;
  while (agree(nested) && ++signs < 100)
    nested = IndexExpr::negate(nested);
  EXPECT_EQ(signs, 33);
  int operands = 0;
  while (agree(wide) && ++operands < 4000)
    wide = IndexExpr::binary(IndexExpr::Code::Add, wide, IndexExpr::symbol("M"));
  EXPECT_EQ(operands, 1024) << "1024 symbols and 1023 signs of three characters are 4093 characters";
  while (agree(deep))
    deep = IndexExpr::binary(IndexExpr::Code::Max, IndexExpr::symbol("N"), deep);
}

/// A name that is an expression is found by structure: the text "S + T" is part of "2*S + T" and is no
/// operand there.
TEST(IndexExpr, BindsOperandsThatAreEqual) {
  const std::vector<IndexExpr> values = {parsed("S + T"), parsed("S"), parsed("T"), parsed("4*D")};
  const int64_t slots[] = {1000, 3, 5, 70};
  auto value = [&](std::string_view text) {
    tessera::Expected<IndexExpr> bound = parsed(text).bind(values);
    int64_t out = 0;
    EXPECT_TRUE(bound && bound->evaluate(slots, out)) << text;
    return out;
  };
  EXPECT_EQ(value("S + T"), 1000);
  EXPECT_EQ(value("S+T - 1"), 999);
  EXPECT_EQ(value("2*S + T"), 11);
  EXPECT_EQ(value("2 * (S + T)"), 2000);
  EXPECT_EQ(value("T + S"), 8);
  EXPECT_EQ(value("4*D*S"), 210);
  EXPECT_EQ(value("ceildiv(S + T, 2) - T"), 495);
  EXPECT_EQ(parsed("S + D").bind(values).error().message, "unknown name 'D' at column 5");
  EXPECT_EQ(IndexExpr::symbol("D").bind(values).error().message, "unknown name 'D'");
  EXPECT_TRUE(parsed("Q + 1").bind(std::vector{parsed("Q + 1")})) << "the parts of a value need no value";
}

} // namespace
