// One definition in a text that goes on, and sources that were put together from such definitions.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  CompileStatus status;
  Definition definition;
  std::vector<Diagnostic> diags;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const FreeName &name : definition.names)
      out.push_back(name.name);
    return out;
  }
  std::string text() const {
    std::string out;
    for (const Diagnostic &d : diags)
      out += render(d, false);
    return out;
  }
};

Read read(std::string_view text) {
  Read out;
  out.status = readDefinition(text, "user.py", out.definition, out.diags);
  return out;
}

const std::string kScale = "@ts.kernel\n"
                           "def scale(x: ts.Tensor[\"n\", ts.f32], alpha: ts.f32 = ONE):\n"
                           "    for i in ts.tile.parallel(0, n, BLOCK):\n"
                           "        v = x[i:i+BLOCK]\n"
                           "        x[i:i+BLOCK] = alpha * double(v, config.BIAS)\n";

TEST(Definition, EndsWhereTheNextStatementBegins) {
  for (const char *rest : {"", "\n\nprint(f\"{1:>{2}}\", b'\\x00')\n", "class A:\n    pass\n", "# end",
                           "x = scale(  # an open bracket\n", "$ no Python $"}) {
    const Read found = read(kScale + rest);
    ASSERT_EQ(found.status, CompileStatus::Ok) << found.text();
    EXPECT_EQ(found.definition.name, "scale");
    EXPECT_EQ(found.definition.bytes, kScale.size()) << rest;
  }
}

TEST(Definition, ReportsEachFreeNameOnce) {
  const Read found = read(kScale);
  EXPECT_THAT(found.names(), ElementsAre("ts.kernel", "ts.Tensor", "ts.f32", "ONE", "ts.tile.parallel",
                                         "BLOCK", "double", "config.BIAS"));
  EXPECT_EQ(found.definition.names[5].line, 3u);
  EXPECT_EQ(found.definition.names[5].col, 37u);
}

TEST(Definition, DefinesParametersTargetsAndDims) {
  const Read found = read("def f(a, b: T[\"M\", \"2*K\"]):\n"
                          "    c, (d, e) = a\n"
                          "    for i in range(M):\n"
                          "        c += [j * K for j in b if j > zero][0]\n"
                          "    return c, d, e, i, g.shape\n");
  EXPECT_THAT(found.names(), ElementsAre("T", "range", "zero", "g.shape"));
}

TEST(Definition, TakesDefaultsFromAroundIt) {
  EXPECT_THAT(read("def f(a, n=n, m=a + n, k=[j for j in n]):\n    return n, m\n").names(),
              ElementsAre("n", "a"));
}

TEST(Definition, KeepsTheVariableOfAComprehensionInIt) {
  EXPECT_THAT(read("def f(a):\n    b = [k * a for k in k.items]\n    return b, k, c\n").names(),
              ElementsAre("k.items", "k", "c"));
}

TEST(Definition, NamesTheParametersThatItReturns) {
  const std::string head = "def f(x, y):\n    z = x\n    ";
  for (const auto &[statement, returns] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"pass", {}},
           {"return", {}},
           {"return None", {}},
           {"return y", {"y"}},
           {"return z", {"x"}},
           {"return x, x + 1, (y)", {"x", "", "y"}},
           {"if x: return (y, z)", {"y", "x"}},
           {"x, y = y, x\n    return x, y", {"y", "x"}},
           {"x = y\n    return x, y", {"y", "y"}},
           {"x = g(y)\n    return x, y", {"", "y"}},
           {"x += y\n    return x", {"x"}},
           {"return +y, +z, -y", {"y", "x", ""}},
           {"z = +y\n    return z, x + y", {"y", ""}},
           {"if C:\n        x = x + y\n    return x", {"x"}},
           {"if C:\n        x = y\n    return x", {""}},
           {"for z in y: pass\n    return z", {""}},
           {"[a, b] = (y, z)\n    return a, b", {"y", "x"}},
           {"if C: return x, y * 2\n    return y, x * 2", {"", ""}},
           {"if C: return x, y\n    else: return x, x + y", {"x", ""}},
           {"if C:\n        x = y\n        return x\n    return y", {"y"}},
           {"if C: return x\n    return x, y * 2, y", {"x", "", ""}}})
    EXPECT_EQ(read(head + statement).definition.returns, returns) << statement;
}

TEST(Definition, MayBeIndented) {
  const std::string text = "    @jit\n    def f(a):\n        if a:\n            b = a\n        return b\n";
  for (const char *rest : {"    g = 1\n", "h = 2\n"}) {
    const Read found = read(text + rest);
    ASSERT_EQ(found.status, CompileStatus::Ok) << found.text();
    EXPECT_EQ(found.definition.bytes, text.size());
  }
}

TEST(Definition, MayBeOneLine) {
  EXPECT_EQ(read("def f(a): return a + 1\nb = 2\n").definition.bytes, 23u);
  EXPECT_EQ(read("def f(a): return a + 1").definition.bytes, 22u);
  EXPECT_EQ(read("@a(\n  b)\n@c\ndef f(\n  x,\n  y):\n  return (x +\ny)\nz\n").definition.name, "f");
}

TEST(Definition, NeedsAFunction) {
  for (const char *text : {"f = ts.kernel(lambda x: x)\n", "x = 1\ndef f(): pass\n", "", "@a\nf = 1\n"}) {
    const Read found = read(text);
    EXPECT_EQ(found.status, CompileStatus::BadProgram) << text;
    EXPECT_THAT(found.text(), testing::AnyOf(HasSubstr("E_SYNTAX"), HasSubstr("E_UNSUPPORTED"))) << text;
  }
  EXPECT_THAT(read("@ts.kernel\nclass A:\n    pass\n").text(),
              HasSubstr("'class' is not part of the tile language"));
}

TEST(Definition, ReportsItsErrorsOnly) {
  EXPECT_THAT(read("def f(a):\n    a = = 1\nb = = 2\n").text(), HasSubstr("user.py:2:9"));
  EXPECT_EQ(read("def f(a):\n    a = = 1\nb = = 2\n").diags.size(), 1u);
}

Outcome inPieces(const std::string &source, Supplied supplied) {
  FrontendOptions o;
  o.supplied = std::move(supplied);
  return compile(source, o);
}

TEST(Pieces, MayBeIndented) {
  Supplied supplied;
  supplied.constants = {{"h", "half"}, {"config.BIAS", "0.25"}, {"lib.half", "half"}};
  supplied.pieces = {{1, 1, "<names>"}, {2, 10, "user.py"}, {7, 90, "lib.py"}};
  const Outcome out = inPieces("import tessera as ts\n"
                               "    @ts.kernel\n"
                               "    def f(x: ts.Tensor[\"n\", ts.f32]):\n"
                               "        for i in ts.tile.parallel(0, n, 8):\n"
                               "            x[i:i+8] = h(x[i:i+8]) + lib.half(config.BIAS)\n"
                               "\n"
                               "  def half(v):\n"
                               "    return 0.5 * v\n",
                               supplied);
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_THAT(out.text(), HasSubstr("0.5"));
}

TEST(Pieces, MoveAPositionToItsFile) {
  const std::vector<SourcePiece> pieces = {{2, 10, "user.py"}, {7, 90, "lib.py"}};
  auto moved = [&](uint32_t line) {
    std::string file = "whole";
    toFile(pieces, file, line);
    return file + ":" + std::to_string(line);
  };
  EXPECT_EQ(moved(0), "whole:0");
  EXPECT_EQ(moved(1), "whole:1");
  EXPECT_EQ(moved(2), "user.py:10");
  EXPECT_EQ(moved(6), "user.py:14");
  EXPECT_EQ(moved(7), "lib.py:90");
  EXPECT_EQ(moved(100), "lib.py:183");
}

} // namespace
} // namespace tessera::frontend::test
