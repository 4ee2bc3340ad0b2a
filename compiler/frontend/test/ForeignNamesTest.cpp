// What the language does not have is said not to exist, and the hint is made of what does.
#include "compiler/ops/ForeignNames.h"
#include "compiler/frontend/test/TestSupport.h"
#include "compiler/ops/Functions.h"
#include "numerics/DType.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using ops::findFunction;
using ops::LanguageFunction;
using testing::HasSubstr;

TEST(ForeignNames, AreNoNamesOfTheLanguage) {
  for (const char *name : {"unique", "nonzero", "u128", "uint24", "complex64", "linspace", "power"}) {
    EXPECT_TRUE(ops::foreignHint(name, "ts.")) << name;
    EXPECT_FALSE(findFunction("tessera", name)) << name;
    EXPECT_FALSE(parseDType(name)) << name;
  }
  for (const LanguageFunction &b : ops::allFunctions())
    if (std::string_view(b.module) != "math") EXPECT_FALSE(ops::foreignHint(b.name, "ts.")) << b.name;
  for (const DTypeInfo &d : allDTypes())
    EXPECT_FALSE(ops::foreignHint(d.name, "ts.")) << d.name;
  EXPECT_FALSE(ops::foreignHint("row_mx", "ts."));
}

TEST(ForeignNames, HintsAreMadeOfFunctionsOfThePlace) {
  for (const ops::ForeignName &foreign : ops::foreignNames()) {
    EXPECT_FALSE(findFunction("tessera", foreign.name)) << foreign.name;
    for (ops::Place place : {ops::Kernels, ops::Graphs}) {
      const std::string prefix = place == ops::Graphs ? "ts." : "ts.tile.";
      const std::string hint = *ops::foreignHint(foreign.name, prefix);
      EXPECT_TRUE(hint.find('@') == std::string::npos || hint.find("@ts.kernel") == hint.find('@')) << hint;
      for (size_t at = hint.find("ts."); at != std::string::npos; at = hint.find("ts.", at + 1)) {
        std::string path = hint.substr(
            at + 3, hint.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789.", at) - at - 3);
        const bool isTile = path.starts_with("tile.");
        if (isTile) path.erase(0, 5);
        const LanguageFunction *f = findFunction("tessera", path);
        // What '@' became is callable there; the hint itself says whether another place is meant.
        const bool isPlaced = std::string_view(foreign.written).find("@" + path) != std::string_view::npos;
        EXPECT_TRUE(parseDType(path) || path.starts_with("kernel") ||
                    (f && f->isIn(isPlaced ? place
                                  : isTile ? ops::Kernels
                                           : ops::Graphs)) ||
                    (f && f->isIn(ops::Scalars)))
            << hint;
      }
    }
  }
}

TEST(ForeignNames, AreExplainedWhereModulesOfOtherToolsAreUsed) {
  EXPECT_THAT(compile(kernelWith("y = tl.exp(f)")).text(),
              testing::AllOf(HasSubstr("'tl' is not defined"), HasSubstr("hint: write ts.tile.exp(...)")));
  EXPECT_THAT(compile(kernelWith("y = tl.program_id(0)")).text(), HasSubstr("i, j = ts.tile.grid(n, m)"));
  EXPECT_THAT(compile(graphWith("return jnp.fmin(x, y)"), withKernel("k")).text(),
              HasSubstr("hint: write ts.minimum(a, b)"));
  EXPECT_THAT(compile(graphWith("return jnp.clip(x, 0.0, 1.0)"), withKernel("k")).text(),
              HasSubstr("hint: write ts.clip(...)"));
  EXPECT_THAT(compile(graphWith("return torch.nn.functional.softmax(x)"), withKernel("k")).text(),
              HasSubstr("hint: write ts.softmax(...)"));
  EXPECT_THAT(compile(graphWith("return x.view(4)"), withKernel("k")).text(),
              HasSubstr("hint: write ts.reshape(x, shape)"));
  EXPECT_THAT(compile(kernelWith("y = ts.long(s)")).text(), HasSubstr("hint: write ts.i64"));
  // A name of the program is no module.
  EXPECT_THAT(compile(kernelWith("np = A[0:4, 0:4]\ny = np.T")).text(), testing::Not(HasSubstr("error")));
  // softmax is not a function of kernels.
  EXPECT_THAT(compile(kernelWith("y = tl.softmax(f)")).text(), testing::Not(HasSubstr("ts.tile.softmax")));
}

TEST(ForeignNames, OfArgumentsGiveTheNameHere) {
  EXPECT_THAT(compile(graphWith("return ts.sum(x, dim=0)"), withKernel("k")).text(),
              HasSubstr("hint: write axis="));
  EXPECT_THAT(compile(graphWith("return ts.max(x, axis=0, keepdim=True)"), withKernel("k")).text(),
              HasSubstr("hint: write keepdims="));
  EXPECT_THAT(compile(kernelWith("y = ts.tile.load(A[0:4, 0:4], boundary_check=(0, 1))")).text(),
              HasSubstr("hint: leave it out: elements out of bounds are masked"));
  EXPECT_THAT(compile(kernelWith("y = ts.tile.exp(f, dim=0)")).text(), testing::Not(HasSubstr("axis=")));
  EXPECT_THAT(compile(kernelWith("y = ts.matmul(f, f)")).text(), HasSubstr("ts.tile.mma(a, b)"));
}

TEST(ForeignNames, SayThatTheyDoNotExist) {
  std::string fmin = compile(kernelWith("y = ts.tile.fmin(f, 1.0)")).text();
  EXPECT_THAT(fmin, HasSubstr("'fmin' does not exist in the language"));
  EXPECT_THAT(fmin, HasSubstr("hint: write ts.tile.minimum(a, b)"));
  EXPECT_THAT(compile(graphWith("return ts.fmin(x, 1.0)"), withKernel("k")).text(),
              HasSubstr("hint: write ts.minimum(a, b)"));
  EXPECT_THAT(compile(kernelWith("y = ts.u24(s)")).text(),
              HasSubstr("hint: the integers are i64, i32, i16, i8, u64, u32, u16 and u8"));
  // What is neither known nor near has no suggestion.
  EXPECT_THAT(compile(kernelWith("y = ts.tile.frobnicate(f)")).text(), testing::Not(HasSubstr("hint")));
  EXPECT_THAT(compile(kernelWith("y = ts.tile.row_mx(A[0:4, 0:4])")).text(),
              HasSubstr("did you mean 'row_max'?"));
}

} // namespace
} // namespace tessera::frontend::test
