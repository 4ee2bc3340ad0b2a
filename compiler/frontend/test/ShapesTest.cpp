#include "compiler/frontend/test/TestSupport.h"

namespace tessera::frontend::test {
namespace {

std::string validate(const std::string &policyText) {
  Outcome out = compile(kernelWith("for i in ts.tile.parallel(0, M, 16):\n    A[i:i+16, :] = B[i:i+16, :]"),
                        withDims({{"N", 32}}));
  EXPECT_TRUE(out.ok()) << out.text();
  ShapePolicy policy;
  std::string why;
  if (!parseShapePolicy(policyText, policy, why)) return why;
  return validateShapes(out.kernel, policy).text();
}

TEST(Shapes, Policies) {
  EXPECT_EQ(validate(""), "");
  EXPECT_EQ(validate("M=64, known, whole_tiles"), "");
  EXPECT_EQ(validate("known"), "5:5: M: the dim has no value\n");
  EXPECT_EQ(validate("M=0"), "5:5: M: the extent is 0\n");
  EXPECT_EQ(validate("M=-3"), "5:5: M: an extent of -3 is impossible\n");
  EXPECT_EQ(validate("N=64"), "5:5: N: the kernel was compiled for 32, not 64\n");
  EXPECT_EQ(validate("Q=1"), "5:5: Q: 'k' has no such dim\n");
  EXPECT_EQ(validate("M=60, whole_tiles"), "6:9: i: its extent 60 is not a multiple of the tile's 16\n");
  EXPECT_EQ(validate("M=16, max_bytes=1024"),
            "5:7: A: it has 2048 bytes; the limit is 1024\n5:39: B: it has 2048 bytes; the limit is 1024\n");
  EXPECT_EQ(validate("M=9223372036854775807"),
            "5:7: A: its size does not fit in 64 bits\n5:39: B: its size does not fit in 64 bits\n");
}

TEST(Shapes, MalformedPolicies) {
  EXPECT_EQ(validate("knwon"),
            "unknown shape rule 'knwon' (known, nonempty, whole_tiles, max_bytes=N, NAME=VALUE)");
  EXPECT_EQ(validate("M=x"), "'M=x' is not NAME=INTEGER");
}

} // namespace
} // namespace tessera::frontend::test
