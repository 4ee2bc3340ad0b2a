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
  for (const char *name :
       {"clip", "clamp", "topk", "sort", "u32", "uint16", "complex64", "einsum", "round", "any"}) {
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

TEST(ForeignNames, HintsAreMadeOfOpsThatExist) {
  for (const char *name :
       {"clip", "floor", "sign", "isinf", "any", "logsumexp", "ones_like", "stack", "gather", "dot", "topk"})
    for (std::string prefix : {"ts.", "ts.tile."}) {
      const std::string hint = *ops::foreignHint(name, prefix);
      EXPECT_TRUE(hint.find('@') == std::string::npos || hint.find("@ts.kernel") == hint.find('@')) << hint;
      for (size_t at = hint.find("ts."); at != std::string::npos; at = hint.find("ts.", at + 1)) {
        std::string path = hint.substr(
            at + 3, hint.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789.", at) - at - 3);
        if (path.starts_with("tile.")) path.erase(0, 5);
        EXPECT_TRUE(findFunction("tessera", path) || parseDType(path) || path == "kernel") << hint;
      }
    }
}

TEST(ForeignNames, SayThatTheyDoNotExist) {
  std::string clip = compile(kernelWith("y = ts.tile.clip(f, 0.0, 1.0)")).text();
  EXPECT_THAT(clip, HasSubstr("'clip' does not exist in the language"));
  EXPECT_THAT(clip, HasSubstr("hint: write ts.tile.minimum(ts.tile.maximum(x, low), high)"));
  EXPECT_THAT(compile(graphWith("return ts.clip(x, 0.0, 1.0)"), withKernel("k")).text(),
              HasSubstr("hint: write ts.minimum(ts.maximum(x, low), high)"));
  EXPECT_THAT(compile(kernelWith("y = ts.u32(s)")).text(),
              HasSubstr("hint: the integers are i64, i32, i16, i8 and u8"));
  // What is neither known nor near has no suggestion.
  EXPECT_THAT(compile(kernelWith("y = ts.tile.frobnicate(f)")).text(), testing::Not(HasSubstr("hint")));
  EXPECT_THAT(compile(kernelWith("y = ts.tile.row_mx(A[0:4, 0:4])")).text(),
              HasSubstr("did you mean 'row_max'?"));
}

} // namespace
} // namespace tessera::frontend::test
