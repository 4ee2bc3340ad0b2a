// What a user sees: the rendered text, the order, the suggestions.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;

TEST(Render, ShowsPlaceLineCaretAndHint) {
  FrontendOptions o;
  o.fileName = "k.py";
  Outcome out = compile(kernelWith("y = ts.tile.row_mx(A[0:4, 0:4])"), o);
  EXPECT_EQ(out.text(), "k.py:6:9: error: [E_UNKNOWN_ATTRIBUTE] 'ts.tile' has no 'row_mx'\n"
                        "      y = ts.tile.row_mx(A[0:4, 0:4])\n"
                        "          ^~~~~~~~~~~~~~\n"
                        "  hint: did you mean 'row_max'?\n");
}

TEST(Render, ColoursOnlyWhenAsked) {
  Diagnostic d;
  d.code = "E_X";
  d.message = "m";
  d.file = "f";
  d.line = 1;
  d.col = d.endCol = 1;
  d.sourceLine = "a";
  EXPECT_EQ(render(d, false), "f:1:1: error: [E_X] m\n  a\n  ^\n");
  EXPECT_THAT(render(d, true), HasSubstr("\033[1;31merror: "));
}

TEST(Render, CountsCodePointsAndKeepsTabs) {
  Outcome out = compile(
      "import tessera as ts\n@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32]):\n\ty = 'größe'; z = q\n");
  EXPECT_THAT(out.text(), HasSubstr("4:19: error"));
  out = compile("import tessera as ts\n@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32]):\n\ty = q\n");
  EXPECT_THAT(out.text(), HasSubstr("  \ty = q\n  \t    ^\n"));
}

TEST(Render, CutsVeryLongLines) {
  Outcome out = compile(kernelWith("y = 1" + std::string(500, ' ') + "$" + std::string(500, ' ')));
  std::string text = out.text();
  EXPECT_LT(text.size(), 700u);
  EXPECT_THAT(text, HasSubstr("$"));
}

TEST(Diagnostics, SeveralErrorsInOneRunInLineOrder) {
  Outcome out = compile(kernelWith("a = f +\nb = (1 + 2\nc = s s\nd = 4 $ 4"));
  ASSERT_GE(out.diags.size(), 3u) << out.text();
  for (size_t i = 1; i < out.diags.size(); ++i)
    EXPECT_LE(out.diags[i - 1].line, out.diags[i].line);
}

TEST(Diagnostics, ElaborationGoesOnBehindAnError) {
  Outcome out = compile(kernelWith("a = undefined1\nb = a + 1\nc = f * s\nA[0, 0] = s"));
  ASSERT_EQ(out.diags.size(), 3u) << out.text();
  EXPECT_EQ(out.diags[0].code, "E_UNDEFINED_NAME");
  EXPECT_EQ(out.diags[1].code, "E_TYPE_MIX");
  EXPECT_EQ(out.diags[2].code, "E_STORE_TYPE");
}

TEST(Diagnostics, WhatIsNoTextIsRefusedOnce) {
  for (const std::string &bad :
       {std::string(1, '\0'), std::string("\xFF"), std::string("\xC3"), std::string("\xC0\x80"),
        std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80")}) {
    Outcome out = compile(kernelWith("y = 'a" + bad + "'\nz = q $ " + bad));
    ASSERT_EQ(out.diags.size(), 1u) << out.text();
    EXPECT_EQ(out.diags[0].code, "E_CHARACTER");
    EXPECT_EQ(out.diags[0].line, 6u);
    EXPECT_THAT(out.text(), HasSubstr("this is not source text"));
    EXPECT_EQ(out.text().find(bad), std::string::npos);
  }
  EXPECT_THAT(compile("\xEF\xBB\xBF" + kernelWith("A[0, 0] = f  # \xF0\x9F\x99\x82")).text(),
              HasSubstr("store_elem"));
}

TEST(Diagnostics, HintsNameTheLikelySlip) {
  EXPECT_THAT(compile("import tessera as ts\n@ts.kernel\ndef k(x: ts.Tensor[\"B*H\", ts.f32]):\n    x[0] = "
                      "H\n")
                  .text(),
              HasSubstr("hint: H appears only in the product B*H"));
  EXPECT_THAT(compile(kernelWith("A[0, 0] = ts.tile.max(A[0, 1], 3.0)")).text(),
              HasSubstr("hint: the larger of two values is ts.tile.maximum(a, b)"));
  EXPECT_THAT(compile(kernelWith("y = [s, s]\nfor r in range(2):\n    z = y[r]")).text(),
              HasSubstr("hint: unroll the loop, in which 'r' is a constant then: ts.static_range(...)"));
  EXPECT_THAT(compile(kernelWith("ts.tile.atomic_add(A, 1.0)")).text(),
              HasSubstr("'atomic_add' lacks its argument 'value'"));
  EXPECT_THAT(compile(kernelWith("ts.tile.atomic_add(A, value=1.0)")).text(),
              HasSubstr("'atomic_add' lacks its argument 'index'"));
  for (const char *call :
       {"atomic_add(A[0, 0], 1, 2.0)", "atomic_add(A[0, 0], (0, 1), 2.0)", "store(A[0, 0], (0, 1), 2.0)"})
    EXPECT_THAT(compile(kernelWith(std::string("ts.tile.") + call)).text(),
                HasSubstr("has its index in brackets and as an argument"));
  EXPECT_THAT(compile(kernelWith("ts.tile.atomic_cas(A[0, 0], 2.0)")).text(),
              HasSubstr("hint: write ts.tile.atomic_cas(C[i], compare, value)"));
  EXPECT_THAT(compile(kernelWith("ts.tile.atomic_add(A[0, 0], 1.0, index=(0, 0))")).text(),
              HasSubstr("'atomic_add' has its index in brackets and as an argument"));
  EXPECT_THAT(compile(kernelWith("ts.tile.atomic_add(A[0, 0], 1.0, \"relaxed\", \"device\", 5)")).text(),
              HasSubstr("'atomic_add' takes at most 4 arguments where the index is in brackets, found 5"));
  EXPECT_THAT(compile("import tessera as ts\n@ts.kernel.autotune(space=dict(B=[]))\ndef k(x: "
                      "ts.Tensor[\"n\", ts.f32]):\n    x[0] = 1.0\n")
                  .text(),
              HasSubstr("the list of values of tunable 'B' is empty"));
}

TEST(Diagnostics, AtMostAHundred) {
  std::string body;
  for (int i = 0; i < 300; ++i)
    body += "a = undefined" + std::to_string(i) + "\n";
  EXPECT_EQ(compile(kernelWith(body)).diags.size(), 100u);
}

TEST(Suggest, NearNamesOnly) {
  EXPECT_EQ(didYouMean("row_mx", {"row_max", "row_min", "exp"}), "did you mean 'row_max'?");
  EXPECT_EQ(didYouMean("exo", {"exp", "exp2"}), "did you mean 'exp'?");
  EXPECT_EQ(didYouMean("teh", {"the"}), "did you mean 'the'?");
  for (const char *name : {"ab", "a", ""})
    EXPECT_EQ(didYouMean(name, {"xy", "a", "abc"}), "") << name;
  EXPECT_EQ(didYouMean("topk", {"op", "to"}, "nothing"), "nothing");
}

} // namespace
} // namespace tessera::frontend::test
