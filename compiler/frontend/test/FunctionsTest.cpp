// Sorting, scans with functions of the program, random numbers, unsigned integers: what they are made of, and
// errors.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const char *kParams =
    "A: ts.Tensor[\"M\", \"N\", ts.f32], D: ts.Tensor[\"M\", ts.f64], I: ts.Tensor[\"M\", ts.i32], "
    "U: ts.Tensor[\"M\", ts.u32], V: ts.Tensor[\"M\", ts.u16], B: ts.Tensor[\"M\", ts.bool], u: ts.u16, "
    "w: ts.u32, i: ts.i32, l: ts.i64, f: ts.f32";

const char *kHelpers =
    "def add(a, b):\n    return a + b\n\ndef three(a, b, c):\n    return a\n\n"
    "def two(a, b):\n    return a, b\n\ndef widens(a, b):\n    return ts.tile.cast(a, ts.f64)\n\n";

std::string of(const std::string &body) {
  return compile(std::string("import tessera as ts\n") + kHelpers + kernelWith(body, kParams)).text();
}

TEST(Sorting, IsOfSignedIntegers) {
  EXPECT_THAT(of("A[0:4, 0:8] = ts.tile.sort(A[0:4, 0:8])"), HasSubstr("sort axis 1("));
  EXPECT_THAT(of("I[0:8] = ts.tile.sort(I[0:8])"),
              AllOf(HasSubstr("sort axis 0("), Not(HasSubstr("bitcast"))));
  EXPECT_THAT(of("I[0:7] = ts.tile.argsort(A[0, 0:7])"), HasSubstr("shl("));
  EXPECT_THAT(of("v, at = ts.tile.topk(A[0:4, 0:9], 3)\nI[0:3] = at[0, :]"), HasSubstr("sort axis 1("));
  EXPECT_THAT(of("I[0:8] = ts.tile.argsort(D[0:8])"), HasSubstr("fill_masked(")); // by halves
}

TEST(Sorting, Errors) {
  EXPECT_THAT(of("v, at = ts.tile.topk(A[0:4, 0:8], 9)"),
              AllOf(HasSubstr("E_SHAPE"), HasSubstr("between 1 and 8 elements of this axis, found 9")));
  EXPECT_THAT(of("v, at = ts.tile.topk(A[0:4, 0:8], 0)"), HasSubstr("E_SHAPE"));
  EXPECT_THAT(of("v, at = ts.tile.topk(A[0:4, 0:8], i)"), HasSubstr("E_CONSTANT"));
  EXPECT_THAT(of("A[0:4, 0:8] = ts.tile.sort(A[0:4, 0:8], axis=2)"), HasSubstr("E_AXIS"));
  EXPECT_THAT(of("A[0:4, 0:8] = ts.tile.sort(A[0:4, 0:8], descending=i)"),
              AllOf(HasSubstr("E_CONSTANT"), HasSubstr("descending is True or False")));
  EXPECT_THAT(of("y = ts.tile.sort(f)"), HasSubstr("'sort' takes a tile, found"));
  EXPECT_THAT(of("y = ts.tile.flip(f)"), HasSubstr("'flip' takes a tile, found"));
  EXPECT_THAT(of("I[0:4] = ts.tile.histogram(A[0, 0:8], 4)"),
              AllOf(HasSubstr("E_TYPE"), HasSubstr("'histogram' counts integers, not f32")));
  EXPECT_THAT(of("I[0:4] = ts.tile.histogram(I[0:8], 0)"), HasSubstr("E_TILE_SIZE"));
}

TEST(Sequences, ZipTakesTwoToFour) {
  for (const char *rest : {"", ", (5, 6)", ", (5, 6), (7, 8, 9)", ", d=(5, 6)"}) {
    const std::string text =
        of("for p in zip((1, 2, 3), (3, 4)" + std::string(rest) + "):\n    I[p[0]] = p[len(p) - 1]");
    EXPECT_THAT(text,
                AllOf(HasSubstr("store_elem I[1]"), HasSubstr("store_elem I[2]"), Not(HasSubstr("I[3]"))))
        << text;
  }
}

TEST(Combining, CallsTheFunctionOncePerStep) {
  const std::string scan = of("I[0:8] = ts.tile.associative_scan(I[0:8], 0, add)");
  size_t additions = 0;
  for (size_t at = scan.find("add("); at != std::string::npos; at = scan.find("add(", at + 1))
    ++additions;
  EXPECT_EQ(additions, 3u) << scan;
  EXPECT_THAT(of("I[0] = ts.tile.reduce(I[0:8], 0, add)"), HasSubstr("store_elem I[0]"));
}

TEST(Combining, Errors) {
  EXPECT_THAT(of("y = ts.tile.reduce(I[0:8], 0, ts.tile.maximum)"),
              AllOf(HasSubstr("E_TYPE"), HasSubstr("a function of this file that combines two elements")));
  EXPECT_THAT(of("y = ts.tile.reduce(I[0:8], 0, 3)"), HasSubstr("a function of this file"));
  EXPECT_THAT(of("y = ts.tile.reduce(I[0:8], 0, k)"), HasSubstr("a function of this file"));
  EXPECT_THAT(of("y = ts.tile.associative_scan(I[0:8], 0, three)"),
              AllOf(HasSubstr("E_ARGUMENTS"), HasSubstr("takes two arguments; 'three' takes 3")));
  EXPECT_THAT(of("y = ts.tile.associative_scan((I[0:8], U[0:8]), 0, three)"),
              HasSubstr(", or 4: the elements of"));
  EXPECT_THAT(of("y = ts.tile.associative_scan((I[0:8], U[0:4]), 0, two)"),
              AllOf(HasSubstr("E_SHAPE"), HasSubstr("have one shape, found (8,) and (4,)")));
  EXPECT_THAT(of("y = ts.tile.associative_scan((), 0, two)"),
              HasSubstr("an empty tuple has nothing to combine"));
  EXPECT_THAT(of("y = ts.tile.associative_scan(i, 0, add)"),
              HasSubstr("takes a tile, or a tuple of tiles, found"));
  EXPECT_THAT(of("y = ts.tile.associative_scan(I[0:8], 0, two)"),
              AllOf(HasSubstr("E_TYPE"), HasSubstr("'two' combines 1 value and returns 2")));
  EXPECT_THAT(of("y = ts.tile.associative_scan((I[0:8], I[0:8], I[0:8]), 0, two)"),
              HasSubstr("'two' combines 3 values and returns 2"));
  EXPECT_THAT(of("y = ts.tile.associative_scan(A[0, 0:8], 0, widens)"),
              AllOf(HasSubstr("E_TYPE_MIX"), HasSubstr("'widens' combines elements of f32 and returns")));
  EXPECT_THAT(of("y = ts.tile.reduce(I[0:8], 1, add)"), HasSubstr("E_AXIS"));
  EXPECT_THAT(of("y = ts.tile.reduce(I[0:8], 0, add, keepdims=i)"), HasSubstr("keepdims is True or False"));
}

TEST(Random, Errors) {
  EXPECT_THAT(of("A[0, 0:8] = ts.tile.randn(1.5, ts.tile.arange(8))"),
              HasSubstr("'randn' takes an integer seed and an integer offset"));
  EXPECT_THAT(of("I[0:8] = ts.tile.randint(1, ts.tile.arange(8), 0, 1.5)"),
              AllOf(HasSubstr("E_TYPE"), HasSubstr("the bounds of 'randint' are integers of 32 bits")));
  EXPECT_THAT(of("I[0:8] = ts.tile.randint(1, ts.tile.arange(8), 0, l)"), HasSubstr("integers of 32 bits"));
  EXPECT_THAT(of("I[0:8] = ts.tile.randint(1, ts.tile.arange(8), 0, 1 << 40)"),
              HasSubstr("integers of 32 bits"));
  EXPECT_THAT(of("I[0:8] = ts.tile.randint(1, ts.tile.arange(8), 5, 5)"),
              AllOf(HasSubstr("E_LITERAL_RANGE"), HasSubstr("no integer is in [5, 5)")));
}

TEST(Functions, Errors) {
  EXPECT_THAT(of("y = ts.tile.asin(i)"), HasSubstr("'asin' takes floats, not i32"));
  EXPECT_THAT(of("y = ts.tile.atan2(f, i)"), HasSubstr("'atan2' takes floats, not i32"));
  EXPECT_THAT(of("y = ts.tile.cummin(B[0:8])"), HasSubstr("'cummin' takes numbers, not bool"));
  EXPECT_THAT(of("y = f * math.acosh(0.5)"), HasSubstr("math.acosh of this constant is not defined"));
  EXPECT_THAT(of("y = f * math.atanh(1.0)"), HasSubstr("math.atanh of this constant is not defined"));
  EXPECT_THAT(of("y = f * math.log10(0.0)"), HasSubstr("math.log10 of this constant is not defined"));
  EXPECT_THAT(of("f = f * math.log10(1000.0)\nA[0, 0] = f"), HasSubstr("mul(f, 3.0:f32)"));
}

TEST(Unsigned, MixLikeSignedOnes) {
  EXPECT_THAT(of("U[0] = u + w"), HasSubstr("add(cast u32(u), w)"));
  EXPECT_THAT(of("y = w + i"),
              AllOf(HasSubstr("E_TYPE_MIX"), HasSubstr("convert both with ts.tile.cast(x, ts.i64)")));
  EXPECT_THAT(of("y = w + l"), HasSubstr("convert the u32 with ts.tile.cast(x, ts.i64)"));
  EXPECT_THAT(of("U[0] = w + 4000000000"), HasSubstr("add(w, 4000000000:u32)"));
  EXPECT_THAT(of("U[0] = w + 5000000000"), HasSubstr("E_LITERAL_RANGE"));
  EXPECT_THAT(of("U[0] = w - 1 + -1"), HasSubstr("E_LITERAL_RANGE"));
  EXPECT_THAT(of("I[0:4] = ts.tile.sum(ts.tile.reshape(V[0:16], (4, 4)), axis=1)"), Not(HasSubstr("error")));
  EXPECT_THAT(of("U[0:4] = ts.tile.sum(ts.tile.reshape(U[0:16], (4, 4)), axis=1)"), Not(HasSubstr("error")));
  EXPECT_THAT(of("y = ts.tile.mma(ts.tile.reshape(V[0:16], (4, 4)), ts.tile.reshape(V[0:16], (4, 4)))"),
              HasSubstr("'mma' takes floats, i8 or u8, not u16"));
  EXPECT_THAT(of("ts.tile.atomic_add(V, 0, u)"), HasSubstr("atomic_add on u16"));
  EXPECT_THAT(
      compile("import tessera as ts\n\n@ts.jit\ndef g(x: ts.Tensor[4, 4, ts.u32]):\n    return x @ x\n")
          .text(),
      AllOf(HasSubstr("E_TYPE"), HasSubstr("a matrix product takes floats, signed integers or u8, not u32")));
}

} // namespace
} // namespace tessera::frontend::test
