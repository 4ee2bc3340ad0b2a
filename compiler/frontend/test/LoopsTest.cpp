// The grid in its four forms, implicit iterators, implicit batch, results.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kHead = "import tessera as ts\n@ts.kernel\n";
std::string of(const std::string &body) { return compile(kernelWith(body)).text(); }

TEST(Grid, NestedParallelLoops) {
  std::string text = of("T = 16\nfor i in ts.tile.parallel(0, M, T):\n    half = T // 2\n    for j in "
                        "ts.tile.parallel(4, N - 4, half):\n        A[i:i+T, j:j+half] = 0.0");
  EXPECT_THAT(text,
              HasSubstr("grid %i.0 from 0 to dim M step 16\n  grid %j.1 from 4 to sub(dim N, 4) step 8"));
  EXPECT_THAT(text, HasSubstr("store A[%i.0 +16, %j.1 +8]"));
}

TEST(Grid, ExplicitGridCountsPrograms) {
  std::string text = of("i, j = ts.tile.grid(ts.cdiv(M, 16), s)\nA[i*16:i*16+16, j] = 0.0");
  EXPECT_THAT(text, HasSubstr("grid %i.0 from 0 to floordiv(add(dim M, 15), 16) step 1\n  grid %j.1 from 0 "
                              "to cast i64(s) step 1"));
  EXPECT_THAT(text, HasSubstr("store A[mul(%i.0, 16) +16, %j.1]"));
}

TEST(Grid, NoGridIsOneProgram) { EXPECT_THAT(of("A[0:4, 0:4] = 0.0"), Not(HasSubstr("grid"))); }

TEST(Iterators, AccumulateFromZeroAndOnce) {
  std::string text = of("A[tile_m:tile_m+8, 0] += ts.tile.row_sum(B[tile_m:tile_m+8, tile_n:tile_n+4])");
  EXPECT_THAT(text, HasSubstr("grid %tile_m.0 from 0 to dim M step 8"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "%total.2 : <8xf32> = broadcast(0.0:f32)<8xf32>\n  for %tile_n.1 from 0 to dim N step 4 reduction "
          "carries %total.2\n"
          "    %total.2 : <8xf32> = add(%total.2, sum axis 1(load B[%tile_m.0 +8, %tile_n.1 +4]<8x4xf32>))\n"
          "  store A[%tile_m.0 +8, 0] = add(load A[%tile_m.0 +8, 0]<8xf32>, %total.2)"));
}

TEST(Iterators, LocalAccumulators) {
  std::string text = of("t = ts.tile.zeros((8,))\nx = B[tile_m:tile_m+8, tile_n:tile_n+4]\nt += "
                        "ts.tile.row_sum(x)\nA[tile_m:tile_m+8, 0] = t * 2.0");
  EXPECT_THAT(text, HasSubstr("reduction carries %total"));
  EXPECT_THAT(text, HasSubstr("store A[%tile_m.1 +8, 0] = mul("));
}

TEST(Iterators, GivenAccumulator) {
  std::string source =
      kHead +
      "def k(A: ts.Tensor[\"M\", \"K\", ts.f32], B: ts.Tensor[\"K\", \"N\", ts.f32], C: ts.Tensor[\"M\", "
      "\"N\", ts.f32]):\n"
      "    acc = ts.tile.full((8, 8), 1.0)\n"
      "    acc = ts.tile.mma(A[tile_m:tile_m+8, tile_k:tile_k+4], B[tile_k:tile_k+4, tile_n:tile_n+8], acc)\n"
      "    C[tile_m:tile_m+8, tile_n:tile_n+8] = acc\n";
  std::string text = compile(source).text();
  EXPECT_THAT(text, HasSubstr("%total.5 : <8x8xf32> = %acc.0\n  for %tile_k.2"));
}

TEST(Iterators, ScaledProductsAccumulateWhole) {
  std::string source = kHead + "def k(A: ts.Tensor[\"M\", \"K\", ts.f32], B: ts.Tensor[\"K\", \"N\", "
                               "ts.f32], S: ts.Tensor[\"K\", ts.f32], C: ts.Tensor[\"M\", \"N\", ts.f32]):\n"
                               "    C[tile_m:tile_m+8, tile_n:tile_n+8] += ts.tile.mma(A[tile_m:tile_m+8, "
                               "tile_k:tile_k+4], B[tile_k:tile_k+4, tile_n:tile_n+8]) * S[tile_k // 4]\n";
  std::string text = compile(source).text();
  EXPECT_THAT(text, HasSubstr("add(%total"));
  EXPECT_THAT(text, HasSubstr("load_elem S[floordiv(%tile_k"));
}

TEST(Iterators, TwoReductionsNest) {
  std::string source = kHead +
                       "def k(A: ts.Tensor[\"M\", \"K\", \"L\", ts.f32], C: ts.Tensor[\"M\", ts.f32]):\n"
                       "    x = A[tile_m:tile_m+8, tile_k:tile_k+4, tile_l:tile_l+4]\n"
                       "    C[tile_m:tile_m+8] += ts.tile.sum(ts.tile.sum(x, axis=2), axis=1)\n";
  std::string text = compile(source).text();
  EXPECT_THAT(text, HasSubstr("  for %tile_k.1 from 0 to dim K step 4 reduction carries %total.4\n    for "
                              "%tile_l.2 from 0 to dim L step 4 reduction carries %total.4\n"));
}

TEST(Iterators, StatementsThatUseTheTotalRunOnce) {
  std::string text = of("t = ts.tile.zeros((8,))\nt += ts.tile.row_sum(B[tile_m:tile_m+8, "
                        "tile_n:tile_n+4])\nu = t * 2.0\nA[tile_m:tile_m+8, 0] += u");
  EXPECT_THAT(text, HasSubstr("\n  %u."));
  EXPECT_THAT(of("t = ts.tile.zeros((8,))\nt += ts.tile.row_sum(B[tile_m:tile_m+8, tile_n:tile_n+4])\n"
                 "v = ts.tile.zeros((8,))\nv += ts.tile.row_sum(B[tile_m:tile_m+8, tile_n:tile_n+4] - t[:, "
                 "None])\nA[tile_m:tile_m+8, 0] = v"),
              HasSubstr("E_ITERATOR_REDUCTION"));
}

TEST(Iterators, ReductionsHaveTotals) {
  EXPECT_THAT(
      of("A[tile_m:tile_m+8, 0] = ts.tile.max(B[tile_m:tile_m+8, tile_n:tile_n+4], axis=1) * 2.0"),
      HasSubstr(
          "%total.2 : <8xf32> = maximum(%total.2, max axis 1(load B[%tile_m.0 +8, %tile_n.1 +4]<8x4xf32>))"));
  // What += adds stays the part of one iteration.
  EXPECT_THAT(of("t = ts.tile.zeros((8,))\nx = ts.tile.row_max(B[tile_m:tile_m+8, tile_n:tile_n+4])\nt += x\n"
                 "A[tile_m:tile_m+8, 0] = t"),
              HasSubstr("= add(%total"));
}

TEST(Lanes, TheGuardIsTheDomain) {
  std::string source =
      kHead + "def k(x: ts.Tensor[\"n\", ts.f32], m: ts.i32):\n    i = ts.tile.linear_id()\n";
  EXPECT_THAT(compile(source + "    if i < n // 2:\n        x[2 * i] = 0.0\n").text(),
              HasSubstr("lanes floordiv(dim n, 2)\n  store_elem x[mul(lane_id, 2)]"));
  EXPECT_THAT(compile(source + "    if i <= m and x[i] > 0.0:\n        x[i] = 0.0\n").text(),
              HasSubstr("lanes add(cast i64(m), 1)\n  if land("));
  EXPECT_THAT(
      compile(source + "    if i < m:\n        x[i] = 0.0\n    if n > i:\n        x[i] = 1.0\n").text(),
      HasSubstr("lanes maximum(cast i64(m), dim n)\n  if lt("));
  EXPECT_THAT(compile(source + "    x[i] = x[i] * 2\n").text(), HasSubstr("lanes dim n\n  store_elem"));
}

/// The `lanes` line of the program with that body, or the whole text when it has none.
static std::string lanes(const std::string &body) {
  std::string text = compile(kHead +
                             "def k(X: ts.Tensor[\"n\", ts.f32], Y: ts.Tensor[\"n\", ts.f32], Z: "
                             "ts.Tensor[\"m\", ts.f32]):\n    i = ts.tile.linear_id()\n" +
                             body)
                         .text();
  size_t at = text.find("  lanes ");
  return at == std::string::npos ? text : text.substr(at);
}

TEST(Lanes, AnElseBesideAGuardKeepsEveryLane) {
  EXPECT_THAT(lanes("    if i < 4:\n        Y[i] = 5.0\n    else:\n        Y[i] = X[i]\n"),
              testing::StartsWith("  lanes dim n\n  if lt(lane_id, 4)\n    store_elem Y[lane_id] = "
                                  "5.0:f32\n  else\n    store_elem Y[lane_id] = load_elem X"));
  EXPECT_THAT(lanes("    if i < 4:\n        Y[i] = 5.0\n    else:\n        Z[i] = X[i]\n"),
              testing::StartsWith("  lanes maximum(dim n, dim m)\n  if lt("));
  EXPECT_THAT(lanes("    if i < 4:\n        Y[i] = 5.0\n    else:\n        Y[2 * i] = X[i]\n"),
              HasSubstr("E_LINEAR_DOMAIN"));
}

TEST(Lanes, AChainOfGuardsCoversItsLargest) {
  EXPECT_THAT(lanes("    if i < n // 2:\n        Y[i] = 1.0\n    elif i < n:\n        Y[i] = 2.0\n"),
              testing::StartsWith("  lanes maximum(floordiv(dim n, 2), dim n)\n  if lt("));
  EXPECT_THAT(lanes("    if i < n // 2:\n        Y[i] = 1.0\n    elif i < n:\n        Y[i] = 2.0\n"
                    "    else:\n        Y[i] = 3.0\n"),
              testing::StartsWith("  lanes dim n\n  if lt("));
  EXPECT_THAT(lanes("    if i < 4:\n        Y[i] = 1.0\n    elif X[i] > 0.0:\n        Y[i] = 2.0\n"),
              testing::StartsWith("  lanes dim n\n"));
}

TEST(Lanes, WritesBesideAGuardCount) {
  EXPECT_THAT(lanes("    if i < 4:\n        Y[i] = 1.0\n    Z[i] = 2.0\n"),
              testing::StartsWith("  lanes maximum(dim n, dim m)\n  if lt("));
  EXPECT_THAT(lanes("    if i < 4:\n        Y[2 * i] = 1.0\n    Z[i] = 2.0\n"), HasSubstr("E_LINEAR_DOMAIN"));
  EXPECT_THAT(lanes("    if i < 4:\n        Y[i] = 1.0\n    ts.tile.atomic_add(Z, (0,), 1.0)\n"),
              HasSubstr("E_LINEAR_DOMAIN"));
  EXPECT_THAT(lanes("    v = X[i]\n    if i < 4:\n        Y[2 * i] = v\n"),
              testing::StartsWith("  lanes 4\n  %v"));
}

TEST(Lanes, NarrowComparisonsAreNoGuards) {
  EXPECT_THAT(lanes("    if ts.tile.cast(i, ts.i8) < 4:\n        Y[i] = 1.0\n"),
              testing::StartsWith("  lanes dim n\n  if lt("));
}

TEST(Lanes, ReturnedScalarsLandAtTheLane) {
  std::string text = compile(kHead + "def k(x: ts.Tensor[\"n\", ts.f32]) -> ts.Tensor[\"n\", ts.f32]:\n    i "
                                     "= ts.tile.linear_id()\n    return x[i] * 2\n")
                         .text();
  EXPECT_THAT(text, HasSubstr("result result : tensor[n] f32 writes\n"));
  EXPECT_THAT(text, HasSubstr("store_elem result[lane_id] = mul("));
}

TEST(Results, TilesAreplacedByTheGrid) {
  std::string type = "ts.Tensor[\"M\", \"N\", ts.f32]";
  std::string head = kHead + "def k(A: " + type + ") -> " + type + ":\n";
  EXPECT_THAT(compile(head + "    return A[tile_m:tile_m+8, tile_n:tile_n+4] + 1\n").text(),
              HasSubstr("store result[%tile_m.0 +8, %tile_n.1 +4]"));
  EXPECT_THAT(compile(head + "    for i in ts.tile.parallel(0, M, 8):\n        for j in ts.tile.parallel(0, "
                             "N, 4):\n            return A[i:i+8, j:j+4] + 1\n")
                  .text(),
              HasSubstr("store result[%i.0 +8, %j.1 +4]"));
  EXPECT_THAT(compile(head + "    for i in ts.tile.parallel(0, M, 1):\n        return A[i:i+1, :]\n",
                      withDims({{"N", 16}}))
                  .text(),
              HasSubstr("store result[%i.0 +1, 0 +16]"));
  EXPECT_THAT(compile(head + "    return A[0:8, 0:4]\n").text(), HasSubstr("E_RETURN_TYPE"));
}

TEST(Results, TuplesAndParameters) {
  std::string type = "ts.Tensor[\"M\", ts.f32]";
  std::string text =
      compile(kHead + "def k(A: " + type + ", B: " + type + ") -> tuple[" + type + ", " + type +
              "]:\n    x = A[tile_m:tile_m+8]\n    B[tile_m:tile_m+8] = x\n    return B, x * 2\n")
          .text();
  EXPECT_THAT(text, HasSubstr("param B : tensor[M] f32 writes returned"));
  EXPECT_THAT(text, HasSubstr("result result1 : tensor[M] f32 writes"));
}

TEST(Batch, MissingLeadingDimsAreLaunchAxes) {
  std::string source = kHead + "def k(A: ts.Tensor[\"B*H\", 2, \"M\", ts.f32], S: ts.Tensor[\"B*H\", 2, "
                               "ts.f32]):\n    A[tile_m:tile_m+8] *= 2\n";
  std::string text = compile(source).text();
  EXPECT_THAT(text, HasSubstr("dims B*H M"));
  EXPECT_THAT(text, HasSubstr("grid %batch0.0 from 0 to dim B*H step 1 batch\n  grid %batch1.1 from 0 to 2 "
                              "step 1 batch\n  grid %tile_m.2"));
  EXPECT_THAT(text, HasSubstr("store A[%batch0.0, %batch1.1, %tile_m.2 +8]"));
  EXPECT_THAT(compile(source + "    A[0, 0, 0] = 0.0\n").text(), HasSubstr("E_INDEX"));
  EXPECT_THAT(compile(source + "    y = S[0]\n").text(), HasSubstr("E_INDEX"));
}

} // namespace
} // namespace tessera::frontend::test
