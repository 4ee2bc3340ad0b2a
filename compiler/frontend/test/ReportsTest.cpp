// print and assert_: what they become with the constant __debug__, and without it.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr, testing::Not;

Outcome of(const std::string &body, bool isOn = true) {
  FrontendOptions o;
  o.fileName = "k.py";
  if (isOn) o.supplied.constants = {{"__debug__", "True"}};
  return compile(kernelWith(body), o);
}

const char *kLoop = "for i in ts.tile.parallel(0, M, 4):\n    x = A[i:i+4, 0:8]\n";

TEST(Reports, AreNothingWithoutDebug) {
  const std::string store = "    B[i:i+4, 0:8] = x\n";
  const Outcome bare = of(kLoop + store, false);
  const Outcome off = of(std::string(kLoop) +
                             "    ts.tile.print(\"x = {}\", x)\n    ts.tile.assert_(x > 0, \"no\")\n" + store,
                         false);
  ASSERT_TRUE(bare.ok()) << bare.text();
  EXPECT_EQ(off.text(), bare.text());
  ASSERT_EQ(off.kernel.unused.size(), 1u);
  EXPECT_THAT(off.kernel.unused[0], HasSubstr("print in line 8 has no effect: TESSERA_DEBUG=on"));
  EXPECT_TRUE(bare.kernel.unused.empty());
}

TEST(Reports, WriteAHiddenTensor) {
  const Outcome out =
      of(std::string(kLoop) + "    ts.tile.print(\"x = {} {:d}\", x, i)\n    B[i:i+4, 0:8] = x\n");
  ASSERT_TRUE(out.ok()) << out.text();
  const Param &p = out.kernel.params.back();
  ASSERT_EQ(p.reports.size(), 1u);
  EXPECT_EQ(p.reports[0].text, "x = {} {:d}");
  EXPECT_EQ(p.reports[0].file, "k.py");
  ASSERT_EQ(p.reports[0].values.size(), 2u);
  EXPECT_EQ(p.reports[0].values[0].shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(p.reports[0].values[1].dtype, DType::I64);
  EXPECT_FALSE(p.reports[0].isAssert);
}

TEST(Reports, AnUnrolledStatementIsOne) {
  const Outcome out =
      of(std::string(kLoop) + "    for j in ts.static_range(3):\n        ts.tile.print(\"{}\", x[j])\n");
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_EQ(out.kernel.params.back().reports.size(), 1u);
}

TEST(Reports, OfALaneDoNotChangeItsDomain) {
  const Outcome out =
      of("i = ts.tile.linear_id()\nts.tile.print(\"here\")\nif i < M:\n    B[i, 0] = A[i, 0]\n");
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_TRUE(out.kernel.params.back().reports[0].isOfLane);
  ASSERT_TRUE(out.kernel.laneCount);
}

TEST(Reports, AConstantConditionIsDecided) {
  const Outcome holds = of(std::string(kLoop) + "    ts.tile.assert_(True, \"no\")\n    B[i:i+4, 0:8] = x\n");
  ASSERT_TRUE(holds.ok()) << holds.text();
  EXPECT_TRUE(holds.kernel.params.back().reports.empty());
}

TEST(Reports, TheConstantMayBeUsed) {
  const std::string body = std::string(kLoop) + "    if __debug__:\n        B[i:i+4, 0:8] = x\n";
  EXPECT_THAT(of(body).text(), HasSubstr("store"));
  EXPECT_THAT(of(body, false).text(), Not(HasSubstr("store")));
}

TEST(Reports, Errors) {
  for (bool isOn : {true, false}) {
    auto text = [&](const std::string &line) {
      return of(std::string(kLoop) + "    " + line + "\n", isOn).text();
    };
    EXPECT_THAT(text("ts.tile.print()"), HasSubstr("'print' lacks its format"));
    EXPECT_THAT(text("ts.tile.print(x)"), HasSubstr("the format is a string, found"));
    EXPECT_THAT(text("ts.tile.print(\"{} {}\", x)"),
                HasSubstr("the format of 'print': it has 2 {} for 1 values"));
    EXPECT_THAT(text("ts.tile.print(\"{:d}\", x)"),
                HasSubstr("a form of integers for value 1, which is f32"));
    EXPECT_THAT(text("ts.tile.print(\"x\", x, end=\"\")"), HasSubstr("'print' has no parameter 'end'"));
    EXPECT_THAT(text("ts.tile.assert_(x > 0)"), HasSubstr("'assert_' takes a condition and a message"));
    EXPECT_THAT(text("ts.tile.assert_(x, \"no\")"), HasSubstr("'assert_' takes a bool, found"));
    EXPECT_THAT(text("y = ts.tile.print(\"x\")"), HasSubstr("'print' gives no value"));
  }
  EXPECT_THAT(
      of("for i in ts.tile.parallel(0, 1, 1):\n    ts.tile.print(\"{}\", ts.tile.zeros((512, 512), ts.f32))")
          .text(),
      HasSubstr("TSR_UNIMPLEMENTED: a record of 262144 elements"));
}

TEST(Reports, AreNotMoreThanTheirNumbersHold) {
  std::string body = kLoop;
  for (int i = 0; i < 255; ++i)
    body += "    ts.tile.print(\"" + std::to_string(i) + "\")\n";
  const std::string store = "    B[i:i+4, 0:8] = x\n";
  const Outcome all = of(body + store);
  ASSERT_TRUE(all.ok()) << all.text();
  EXPECT_EQ(all.kernel.params.back().reports.size(), 255u);
  EXPECT_THAT(of(body + "    ts.tile.assert_(x > 0, \"no\")\n" + store).text(),
              HasSubstr("TSR_UNIMPLEMENTED: a kernel with more than 255 statements print and assert_"));
}

TEST(Reports, NotInKernelsOfGraphFunctions) {
  FrontendOptions o;
  o.supplied.constants = {{"__debug__", "True"}};
  o.kernel = "g";
  const std::string source =
      "import tessera as ts\n@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32], y: ts.Tensor[\"n\", ts.f32]):\n"
      "    for i in ts.tile.parallel(0, n, 4):\n        ts.tile.print(\"x = {}\", x[i:i+4])\n"
      "        y[i:i+4] = x[i:i+4]\n@ts.jit\ndef g(x: ts.Tensor[\"n\", ts.f32]) -> ts.Tensor[\"n\", "
      "ts.f32]:\n"
      "    y = ts.zeros(x.shape, x.dtype)\n    k(x, y)\n    return y\n";
  EXPECT_THAT(compile(source, o).text(), HasSubstr("'print' in a kernel that a graph function launches"));
}

} // namespace
} // namespace tessera::frontend::test
