// Types and constants that the caller supplies.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;
using Texts = std::vector<std::pair<std::string, std::string>>;

const std::string kHead = "import tessera as ts\n";
const std::string kScale = "@ts.kernel\ndef scale(x, y, a):\n"
                           "    for i in ts.tile.parallel(0, x.shape[0], B):\n"
                           "        y[i:i+B] = a * x[i:i+B]\n";

Outcome with(const std::string &source, Texts types, Texts constants = {}) {
  FrontendOptions o;
  o.supplied = {std::move(types), std::move(constants)};
  return compile(source, o);
}

TEST(Supply, GivesTheProgramThatTheTextWouldGive) {
  const Outcome written = compile(kHead + "B = 64\n@ts.kernel\ndef scale(x: ts.Tensor[\"n\", ts.f32], y: "
                                          "ts.Tensor[\"n\", ts.f32], a: ts.f32):\n"
                                          "    for i in ts.tile.parallel(0, x.shape[0], B):\n"
                                          "        y[i:i+B] = a * x[i:i+B]\n");
  const Outcome supplied =
      with(kHead + kScale, {{"x", "Tensor['n', f32]"}, {"scale.y", "Tensor['n', f32]"}, {"a", "f32"}},
           {{"B", "64"}});
  ASSERT_TRUE(written.ok()) << written.text();
  EXPECT_EQ(supplied.text(), written.text());
}

TEST(Supply, OneSourceServesSeveralTypes) {
  for (const char *dtype : {"f32", "f64", "f16", "bf16"}) {
    const std::string tensor = std::string("Tensor['n', ") + dtype + "]";
    const Outcome out = with(kHead + kScale, {{"x", tensor}, {"y", tensor}, {"a", dtype}}, {{"B", "64"}});
    ASSERT_TRUE(out.ok()) << out.text();
    EXPECT_EQ(name(out.kernel.params[0].dtype), std::string(dtype));
  }
}

TEST(Supply, GraphFunctionsTakeTypesToo) {
  const std::string source = kHead + "@ts.jit\ndef f(x, w):\n    return ts.op.relu(ts.gemm(x, w))\n";
  const Texts types = {{"x", "Tensor['M', 'K', f32]"}, {"w", "Tensor['K', 128, f32]"}};
  const Outcome out = with(source, types);
  ASSERT_TRUE(out.ok()) << out.text();
  ASSERT_TRUE(out.graph);
  EXPECT_EQ(out.graph->params.size(), 3u); // with the result
  EXPECT_EQ(out.graph->params[1].dims[1].constant, 128);
  EXPECT_THAT(with(source, {types[0]}).text(), HasSubstr("E_PARAMETER"));
}

TEST(Supply, ConstantsAreTypesOfTensors) {
  const std::string body =
      "    for i in ts.tile.parallel(0, n, 64):\n        y[i:i+64] = x[i:i+64]\n    return y\n";
  const Outcome written = compile(kHead +
                                  "@ts.kernel\ndef k(x: ts.Tensor['n', ts.f32], y: ts.Tensor['n', ts.f32])"
                                  " -> ts.Tensor['n', ts.f32]:\n" +
                                  body);
  ASSERT_TRUE(written.ok()) << written.text();
  const std::string source = "import tessera\n" + kHead + "@ts.kernel\ndef k(x: V, y: V) -> V:\n" + body;
  EXPECT_EQ(with(source, {}, {{"V", "tessera.Tensor['n', tessera.f32]"}}).text(), written.text());
}

TEST(Supply, TypesMayHaveStrides) {
  const Outcome out =
      with(kHead + kScale, {{"x", "Tensor['n', f32, strides('s')]"}, {"y", "Tensor['n', f32]"}, {"a", "f32"}},
           {{"B", "64"}});
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_EQ(out.kernel.params[0].strides, (std::vector<Dim>{{1, "s"}}));
  EXPECT_EQ(out.kernel.dims, (std::vector<std::string>{"n", "s"}));
}

TEST(Supply, ConstantsAreOfAnyKind) {
  struct Row {
    const char *text, *use;
  };
  for (const auto &[text, use] : {Row{"3", "C"},
                                  {"-2", "C"},
                                  {"0.5", "C"},
                                  {"2 * 4", "C"},
                                  {"(1, 7)", "C[1]"},
                                  {"True", "(1.0 if C else 2.0)"},
                                  {"bf16", "ts.cast(ts.cast(x[0], C), ts.f32)"},
                                  {"'sum'", "(1.0 if C == 'sum' else 2.0)"}}) {
    const std::string body = std::string("    x[0] = ") + use + "\n";
    const Outcome out =
        with(kHead + "@ts.kernel\ndef k(x: ts.Tensor[4, ts.f32]):\n" + body, {}, {{"C", text}});
    const Outcome written = compile(kHead +
                                    (text == std::string("bf16") ? "from tessera import bf16 as C\n"
                                                                 : std::string("C = ") + text + "\n") +
                                    "@ts.kernel\ndef k(x: ts.Tensor[4, ts.f32]):\n" + body);
    ASSERT_TRUE(written.ok()) << text << written.text();
    EXPECT_EQ(out.text(), written.text()) << text;
  }
}

TEST(Supply, ConstantsServeDimsHelpersAndTypes) {
  const Outcome out = with(kHead + "def twice(v):\n    return v * TWO\n"
                                   "@ts.kernel\ndef k(x: ts.Tensor[N, ts.f32], y):\n    x[0] = twice(y[0])\n",
                           {{"y", "Tensor[N, f32]"}}, {{"N", "12"}, {"TWO", "2.0"}});
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_EQ(out.kernel.params[0].dims[0].constant, 12);
  EXPECT_EQ(out.kernel.params[1].dims[0].constant, 12);
}

TEST(Supply, WhatIsWrongWithATypeIsReportedAtItsParameter) {
  const std::string source = kHead + "@ts.kernel\ndef k(x):\n    x[0] = 1.0\n";
  for (auto [type, code] : {std::pair{"Tensor['n', f33]", "E_DTYPE"},
                            {"Tensor[n, f32]", "E_DIM"},
                            {"Tensor['n' f32]", "E_SYNTAX"},
                            {"", "E_SYNTAX"},
                            {"a = 1", "E_SYNTAX"},
                            {"f32\nf64", "E_SYNTAX"},
                            {"\xff", "E_SYNTAX"}}) {
    const Outcome out = with(source, {{"x", type}});
    ASSERT_FALSE(out.ok()) << type;
    EXPECT_EQ(out.diags[0].code, code) << type;
    EXPECT_EQ(out.diags[0].line, 3u) << type;
    EXPECT_EQ(out.diags[0].col, 7u) << type;
  }
}

TEST(Supply, WhatDoesNotFitTheSourceIsRefused) {
  const std::string source =
      kHead + "D = 4\ndef h(q):\n    return q\n@ts.kernel\ndef k(x, y: ts.f32):\n    x[0] = h(y)\n";
  const std::pair<std::string, std::string> x = {"x", "Tensor['n', f32]"};
  struct Row {
    Texts types, constants;
    const char *code, *text;
  };
  const Row rows[] = {
      {{x, {"z", "f32"}}, {}, "E_PARAMETER", "'z', which is no parameter without a type"},
      {{x, {"k.z", "f32"}}, {}, "E_PARAMETER", "'k.z', which is no parameter"},
      {{x, {"y", "f32"}}, {}, "E_PARAMETER", "'y', which is no parameter without a type"},
      {{x, {"k.y", "f32"}}, {}, "E_PARAMETER", "parameter 'k.y' has a type in the source"},
      {{x, {"q", "f32"}}, {}, "E_PARAMETER", "'q', which is no parameter"},
      {{x, {"x", "f32"}}, {}, "E_PARAMETER", "'x', which is no parameter without a type"},
      {{x}, {{"D", "5"}}, "E_DUPLICATE", "'D' is defined in the source"},
      {{x}, {{"h", "5"}}, "E_DUPLICATE", "'h' is defined in the source"},
      {{x}, {{"ts", "5"}}, "E_DUPLICATE", "'ts' is defined in the source"},
      {{x}, {{"E", "5"}, {"E", "6"}}, "E_DUPLICATE", "'E' is defined"},
      {{x}, {{"1E", "5"}}, "E_SYNTAX", "'1E', which is no name"},
      {{x}, {{"", "5"}}, "E_SYNTAX", "'', which is no name"},
      {{x}, {{"E", "5 6"}}, "E_SYNTAX", "'5 6', which is not an expression"},
      {{x}, {{"E", ""}}, "E_SYNTAX", "which is not an expression"},
  };
  for (const Row &row : rows) {
    const Outcome out = with(source, row.types, row.constants);
    ASSERT_FALSE(out.ok()) << row.text;
    EXPECT_EQ(out.diags[0].code, row.code);
    EXPECT_THAT(out.diags[0].message, HasSubstr(row.text));
  }
  EXPECT_TRUE(with(source, {x}).ok());
}

TEST(Supply, ABrokenSourceIsReportedAlone) {
  const Outcome out = with(kHead + "@ts.kernel\ndef k(x:\n    x[0] = 1.0\n", {{"x", "Tensor['n', f32]"}});
  EXPECT_THAT(out.text(), testing::Not(HasSubstr("supplied")));
  EXPECT_FALSE(out.ok());
}

TEST(Supply, ATypeReachesEveryFunctionThatLeavesItOpen) {
  const std::string source =
      kHead + "@ts.kernel\ndef a(x):\n    x[0] = 1.0\n@ts.kernel\ndef b(x):\n    x[0] = 2.0\n";
  std::vector<Signature> out;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(signatures(source, "s.py", out, diags, {{{"x", "Tensor['n', f32]"}}, {}}), CompileStatus::Ok);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].params[0].dtype, "f32");
  out.clear();
  ASSERT_EQ(
      signatures(source, "s.py", out, diags, {{{"b.x", "Tensor['n', f64]"}, {"x", "Tensor['n', f32]"}}, {}}),
      CompileStatus::Ok);
  EXPECT_EQ(out[0].params[0].dtype, "f32");
  EXPECT_EQ(out[1].params[0].dtype, "f64");
}

} // namespace
} // namespace tessera::frontend::test
