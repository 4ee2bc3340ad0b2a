// Memory, control flow, helpers, names.
#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kHead = "import tessera as ts\nimport math\n";
std::string of(const std::string &body, FrontendOptions o = {}) {
  return compile(kernelWith(body), o).text();
}

TEST(Memory, SlicesSimplify) {
  EXPECT_THAT(of("for i in range(0, M, 8):\n    A[i:i+8, 2*i+4:4+2*i+16] = 0.0"),
              HasSubstr("store A[%i.0 +8, add(mul(%i.0, 2), 4) +16]"));
  EXPECT_THAT(of("p = s\nwhile p > 0:\n    A[p:p+4, 0] = 0.0\n    p = p - 4"),
              HasSubstr("store A[cast i64(%p.0) +4, 0]"));
  EXPECT_THAT(of("A[M*N:M*N+4, N-4:N] = 0.0"), HasSubstr("+4]"));
  EXPECT_THAT(of("e = s + 4\nA[s:e, 0:4] = 0.0"), HasSubstr("store A[cast i64(s) +4, 0 +4]"));
}

TEST(Memory, FullSlicesSpecialise) {
  Outcome out = compile(kernelWith("A[0, :] = B[0, :] * (1.0 / N)"), withDims({{"N", 32}, {"M", 7}}));
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_EQ(out.kernel.specialized, (std::vector<std::pair<std::string, int64_t>>{{"N", 32}}));
  EXPECT_THAT(out.text(), HasSubstr("broadcast(0.03125:f32)<32xf32>"));
}

TEST(Memory, ElementsAndRows) {
  EXPECT_THAT(of("A[s, 3] = B[s + 1, 2]"),
              HasSubstr("store_elem A[cast i64(s), 3] = load_elem B[cast i64(add(s, 1:i32)), 2]"));
  EXPECT_THAT(of("A[s, 0:4] += B[s, 0:4]"),
              HasSubstr("store A[cast i64(s), 0 +4] = add(load A[cast i64(s), 0 +4]<4xf32>"));
}

TEST(Memory, SharedBuffers) {
  std::string text = of("t = ts.tile.alloc_shared((2, 8, 8), ts.f32, align=128)\nt[0] = A[0:8, "
                        "0:8]\nts.tile.barrier()\nB[0:8, 0:4] = t[0, 0:8, 4:8]\nu = t[1].T");
  EXPECT_THAT(text, HasSubstr("shared %t.0 : buffer<2x8x8xf32> swizzle none align 128"));
  EXPECT_THAT(text, HasSubstr("write %t.0[0, 0 +8, 0 +8] = load A"));
  EXPECT_THAT(text, HasSubstr("= read %t.0[0, 0 +8, 4 +4]<8x4xf32>"));
  EXPECT_THAT(text, HasSubstr("transpose(read %t.0[1, 0 +8, 0 +8]<8x8xf32>)"));
  EXPECT_THAT(text, HasSubstr("shared_bytes 512"));
}

TEST(Memory, CopiesGroupsAndFences) {
  std::string text =
      of("t = ts.tile.alloc_shared((8, 8), ts.f32)\nts.tile.prefetch(A[8:16, 0:8])\nts.tile.cp_async(t, "
         "A[0:8, 0:8])\n"
         "ts.tile.commit_group()\nts.tile.wait_group(0)\nts.tile.fence(order=\"release\", scope=\"device\")");
  for (const char *s : {"prefetch load A[8 +8, 0 +8]", "cp_async %t.0 = load A", "commit_group",
                        "wait_group 0", "fence release device"})
    EXPECT_THAT(text, HasSubstr(s));
}

TEST(Memory, LoadAndStoreFunctions) {
  std::string text =
      of("x = ts.tile.load(A, (s, 4), (8, 8))\nts.tile.store(B, (0, 0), x)\nts.tile.store(B[8:16, 0:8], x)");
  EXPECT_THAT(text, HasSubstr("load A[cast i64(s) +8, 4 +8]<8x8xf32>"));
  EXPECT_THAT(text, HasSubstr("store B[0 +8, 0 +8] = %x.0"));
  EXPECT_THAT(text, HasSubstr("store B[8 +8, 0 +8] = %x.0"));
}

TEST(Memory, AtomicsHappenOnce) {
  std::string text = of("old = ts.tile.atomic_add(A, (0, s), 1.0)\ny = old + old\nts.tile.atomic_max(A, (0, "
                        "0), f, order=\"acq_rel\", scope=\"system\")\n"
                        "ts.tile.atomic_cas(A, (0, 1), 0.0, f)");
  EXPECT_THAT(text, HasSubstr("%old.0 : f32 = atomic add relaxed device A(0, cast i64(s), 1.0:f32)"));
  EXPECT_THAT(text, HasSubstr("add(%old"));
  EXPECT_THAT(text, HasSubstr("eval atomic max acq_rel system A(0, 0, f)"));
  EXPECT_THAT(text, HasSubstr("eval atomic cas relaxed device A(0, 1, 0.0:f32, f)"));
  EXPECT_THAT(text, HasSubstr("atomics"));
}

TEST(Matrix, TransposesAreFlags) {
  EXPECT_THAT(of("y = ts.tile.mma(A[0:8, 0:4].T, B[0:8, 0:4])"), HasSubstr("mma trans_a(load A"));
  EXPECT_THAT(of("t = ts.tile.alloc_shared((4, 8), ts.f32)\ny = ts.tile.mma(A[0:4, 0:8], t.T)"),
              HasSubstr("mma trans_b(load A[0 +4, 0 +8]<4x8xf32>, read %t.0)<4x4xf32>"));
  EXPECT_THAT(of("y = ts.tile.mma(A[0:4, 0:8], B[0:8, 0:4], acc=ts.tile.zeros((4, 4)))"),
              HasSubstr(", broadcast(0.0:f32)<4x4xf32>)"));
  EXPECT_THAT(of("y = A[0:4, 0:8].T.T"), Not(HasSubstr("transpose")));
}

TEST(Matrix, AccumulatesByDTypeAndPolicy) {
  auto mma = [](const std::string &t) {
    return compile(kernelWith("y = ts.tile.mma(A[0:4, 0:8], A[0:4, 0:8].T)",
                              "A: ts.Tensor[\"M\", \"N\", " + t + "]"))
        .text();
  };
  EXPECT_THAT(mma("ts.bf16"), HasSubstr("<4x4xf32> = mma"));
  EXPECT_THAT(mma("ts.f64"), HasSubstr("<4x4xf64> = mma"));
  EXPECT_THAT(mma("ts.i8"), HasSubstr("<4x4xi32> = mma"));
  EXPECT_THAT(mma("ts.u8"), HasSubstr("<4x4xi32> = mma"));
  EXPECT_THAT(mma("ts.f32 @accum(f64) @round(rne)"), HasSubstr("<4x4xf64> = mma"));
  EXPECT_THAT(mma("ts.bf16 @ts.accum(ts.f32) @ts.round(ts.rne) @ts.loss_scale(128.0)"),
              HasSubstr("bf16 @accum(f32) @loss_scale(128.0)"));
  EXPECT_THAT(mma("\"bf16 @accum(f32) @loss_scale(128.0)\""),
              HasSubstr("bf16 @accum(f32) @loss_scale(128.0)"));
  EXPECT_THAT(mma("ts.i32"), HasSubstr("E_MMA"));
}

TEST(Reductions, SumInWhatThePolicyNames) {
  auto sum = [](const std::string &t, const std::string &call) {
    return compile(kernelWith("y = ts.tile." + call, "A: ts.Tensor[\"M\", \"N\", " + t + "]")).text();
  };
  for (const char *call : {"sum(A[0:4, 0:8], axis=1)", "row_sum(A[0:4, 0:8])", "prod(A[0:4, 0:8], axis=0)",
                           "cumsum(A[0:4, 0:8], axis=1)"}) {
    EXPECT_THAT(sum("ts.f32", call), Not(HasSubstr("cast f64"))) << call;
    EXPECT_THAT(sum("ts.f32 @accum(f32)", call), Not(HasSubstr("cast f64"))) << call;
    EXPECT_THAT(sum("ts.f32 @accum(f64)", call), AllOf(HasSubstr("cast f64"), HasSubstr("cast f32"))) << call;
    EXPECT_THAT(sum("ts.f16 @accum(f64)", call), AllOf(HasSubstr("cast f64"), HasSubstr("cast f16"))) << call;
  }
  EXPECT_THAT(sum("ts.f32 @accum(f64)", "row_max(A[0:4, 0:8])"), Not(HasSubstr("cast")));
}

TEST(Requests, WithoutEffectAreListed) {
  using testing::ElementsAre;
  auto unused = [](const std::string &source) { return compile(source).kernel.unused; };
  const std::string tuned =
      "import tessera as ts\n@ts.kernel.autotune(space=dict(B=[8, 16], num_warps=[4]))\n"
      "def k(X: ts.Tensor[\"n\", ts.f32]):\n    ctx = ts.tile.context()\n";
  EXPECT_THAT(unused(tuned + "    X[0:ctx.B] = ts.tile.zeros((ctx.B,))\n"),
              ElementsAre("tunable num_warps=4 has no effect: 'k' does not read it"));
  EXPECT_THAT(unused(tuned + "    X[0:ctx.B] = ts.tile.full((ctx.B,), 1.0 / ctx.num_warps)\n"),
              ElementsAre());
  EXPECT_THAT(unused("import tessera as ts\n@ts.kernel\ndef k(X: ts.Tensor[8, \"f32 @loss_scale(0.5)\"]):\n"
                     "    X[0:8] = X[0:8] + 1.0\n"),
              ElementsAre("@loss_scale(0.5) of 'X' has no effect: no gradient is computed"));
}

TEST(Control, CarriedVariablesKeepOneSymbol) {
  std::string text = of("a = 0.0\nb = ts.tile.zeros((4,))\nfor i in range(4):\n    t = f * 2.0\n    a = a + "
                        "t\n    if s > i:\n        b = b + a\nA[0, 0:4] = b");
  EXPECT_THAT(text, HasSubstr("carries %a.1, %b.0"));
  EXPECT_THAT(text, HasSubstr("if gt(cast i64(s), %i.2) carries %b.0"));
  EXPECT_THAT(text, HasSubstr("store A[0, 0 +4] = %b.0"));
}

TEST(Control, ReboundInOneBranchKeepsTheOldValueOnTheOther) {
  // The variable has its value before the branch and is carried through it: the other side yields that value.
  std::string text = of("t = A[0:4, 0:4]\nif s > 0:\n    t = t * 2.0\nB[0:4, 0:4] = t");
  EXPECT_THAT(text, HasSubstr("  %t.0 : <4x4xf32> = load A[0 +4, 0 +4]<4x4xf32>\n"
                              "  if gt(s, 0:i32) carries %t.0\n"
                              "    %t.0 : <4x4xf32> = mul(%t.0, broadcast(2.0:f32)<4x4xf32>)\n"
                              "  store B[0 +4, 0 +4] = %t.0\n"));
  text = of("t = A[0:4, 0:4]\nif s > 0:\n    B[0, 0] = f\nelse:\n    t = t + 1.0\nB[0:4, 0:4] = t");
  EXPECT_THAT(text, HasSubstr("if gt(s, 0:i32) carries %t.0\n    store_elem B[0, 0] = f\n  else\n    %t.0 "));
}

TEST(Control, DefinedInBothBranches) {
  std::string text = of("if s > 0:\n    y = f\nelse:\n    y = f + 1.0\nA[0, 0] = y");
  EXPECT_THAT(text, HasSubstr(": f32 = 0.0:f32\n  if gt(s, 0:i32) carries %y."));
  EXPECT_THAT(of("if s > 0:\n    y = f\nelse:\n    y = s\nz = y"), HasSubstr("E_REBIND"));
}

TEST(Control, ConstantConditionsChooseAtCompileTime) {
  std::string text = of("if 1 > 2:\n    A[0, 0] = f\nelif True:\n    A[0, 1] = f\nelse:\n    A[0, 2] = f");
  EXPECT_THAT(text, HasSubstr("store_elem A[0, 1]"));
  EXPECT_THAT(text, Not(HasSubstr("if ")));
}

TEST(Control, LoopsCountDown) {
  std::string text = of("for i in range(10, 0, -2):\n    A[i, 0] = f");
  EXPECT_THAT(text, HasSubstr("from 0 to 10 step 2"));
  EXPECT_THAT(text, HasSubstr("store_elem A[sub(10, %i.0), 0] = f"));
}

TEST(Control, SwapsReadBeforeTheyWrite) {
  std::string text = of("a = f\nb = f + 1.0\nfor i in range(3):\n    a, b = b, a\nA[0, 0] = a - b");
  EXPECT_THAT(text, HasSubstr("%item.3 : f32 = %b.1\n    %item.4 : f32 = %a.0\n    %a.0 : f32 = %item.3\n    "
                              "%b.1 : f32 = %item.4"));
}

TEST(Control, AliasesDoNotFollowTheOriginal) {
  std::string text = of("a = f * 2.0\nb = a\nfor i in range(3):\n    a = a + 1.0\nA[0, 0] = b");
  EXPECT_THAT(text, HasSubstr("store_elem A[0, 0] = %b.1"));
}

TEST(Helpers, AreInlined) {
  std::string text =
      compile(kHead +
              "def relu(v, low=0.0):\n    return ts.tile.maximum(v, low)\n\n@ts.kernel\ndef k(x: "
              "ts.Tensor[\"n\", ts.f32]):\n"
              "    i = ts.tile.linear_id()\n    x[i] = relu(x[i])\n    x[i] = relu(low=1.0, v=x[i])\n")
          .text();
  EXPECT_THAT(
      text, HasSubstr("%v.0 : f32 = load_elem x[lane_id]\n  store_elem x[lane_id] = maximum(%v.0, 0.0:f32)"));
  EXPECT_THAT(text, HasSubstr("maximum(%v.1, 1.0:f32)"));
}

TEST(Helpers, ReturnOnEveryPath) {
  std::string head = kHead + "def h(a):\n    if a > 0.0:\n        return a\n";
  std::string tail = "@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.f32], f: ts.f32):\n    x[0] = h(f)\n";
  std::string text = compile(head + "    b = a * 2.0\n    return b\n" + tail).text();
  EXPECT_THAT(text, HasSubstr("if gt(%a.0, 0.0:f32) carries %h."));
  EXPECT_THAT(text, HasSubstr("else"));
  EXPECT_THAT(compile(head + tail).text(), HasSubstr("E_RETURN_PLACE"));
}

TEST(Helpers, WriteTensorsAndSeeNoOuterNames) {
  std::string text = compile(kHead + "def put(T, i, v):\n    T[i] = v\n\n@ts.kernel\ndef k(x: "
                                     "ts.Tensor[\"n\", ts.f32]):\n    put(x, 3, 1.0)\n")
                         .text();
  EXPECT_THAT(text, HasSubstr("store_elem x[3] = 1.0:f32"));
  EXPECT_THAT(
      compile(kHead +
              "def h():\n    return n\n\n@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.i32]):\n    x[0] = h()\n")
          .text(),
      HasSubstr("E_UNDEFINED_NAME"));
}

TEST(Names, ModuleConstantsAndImports) {
  std::string text = compile("from tessera import tile, f32, kernel, Tensor\nfrom math import pi as "
                             "PI\nimport os\nR, C = 4, 8\nS = (R, C)\nHALF = 1 / 2\n"
                             "@kernel\ndef k(x: Tensor[R, \"n\", f32]):\n    y = tile.full(S, HALF * PI, "
                             "f32)\n    x[:, 0:C] = y\n")
                         .text();
  EXPECT_THAT(text, HasSubstr("broadcast(1.57079637:f32)<4x8xf32>"));
  EXPECT_THAT(text, HasSubstr("store x[0 +4, 0 +8]"));
}

TEST(Names, LocalsShadowConstants) {
  EXPECT_THAT(compile("import tessera as ts\nN = 4\n@ts.kernel\ndef k(x: ts.Tensor[\"n\", ts.i32]):\n    N = "
                      "9\n    x[0] = N\n")
                  .text(),
              HasSubstr("= 9:i32"));
}

TEST(Names, TsSpellings) {
  EXPECT_THAT(of("y = ts.zeros((4,)) + ts.tile.row_sum(A[0:4, 0:4]) + ts.exp(B[0, 0:4])"),
              HasSubstr("exp(load B"));
}

TEST(Names, TunablesComeFromTheContext) {
  std::string source = kHead + "@ts.kernel.autotune(space={\"BM\": [8, 16], \"BN\": [4]})\ndef k(A: "
                               "ts.Tensor[\"M\", \"N\", ts.f32]):\n"
                               "    ctx = ts.tile.context()\n    for i in ts.tile.parallel(0, ctx.M, "
                               "ctx.BM):\n        A[i:i+ctx.BM, 0:ctx.BN] = 0.0\n";
  EXPECT_THAT(compile(source).text(), HasSubstr("grid %i.0 from 0 to dim M step 8"));
  FrontendOptions o;
  o.tunables = {{"BM", 16}};
  EXPECT_THAT(compile(source, o).text(), HasSubstr("tunables BM=16 BN=4"));
}

TEST(Names, ParametersBehindAStarAreGivenByName) {
  const std::string text =
      kHead + "def f(v, *, by=2.0):\n    return v * by\n@ts.kernel\ndef k(x: ts.Tensor[4, ts.f32], *, "
              "a: ts.f32 = 1.0):\n    for i in ts.tile.parallel(0, 4, 4):\n        x[i:i+4] = ";
  EXPECT_TRUE(compile(text + "f(x[i:i+4], by=a) + f(a)\n").ok());
  EXPECT_THAT(compile(text + "f(x[i:i+4], a)\n").text(),
              HasSubstr("'f' takes 1 arguments by position, found 2"));
  for (const char *wrong : {"*, *, a", "*", "*a", "a, *", "a, /, b"})
    EXPECT_FALSE(compile(kHead + "def f(" + wrong + "):\n    return 1\n").ok()) << wrong;
}

TEST(Ops, TheRest) {
  for (const char *expression :
       {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "abs"})
    EXPECT_THAT(of(std::string("y = ts.tile.") + expression + "(f)"),
                HasSubstr(std::string("= ") + expression + "(f)"));
  EXPECT_THAT(of("y = ts.tile.fma(f, 2.0, 1.0)"), HasSubstr("fma(f, 2.0:f32, 1.0:f32)"));
  EXPECT_THAT(of("y = ts.tile.concat((A[0:4, 0:4], B[0:2, 0:4]), axis=0)"),
              HasSubstr("<6x4xf32> = concat axis 0("));
  EXPECT_THAT(of("y = ts.tile.reshape(A[0:4, 0:4], (2, -1))"), HasSubstr("<2x8xf32> = reshape("));
  EXPECT_THAT(of("y = ts.tile.broadcast(A[0, 0:4], (3, 4))"), HasSubstr("<3x4xf32> = broadcast("));
  EXPECT_THAT(of("y = ts.tile.cumsum(A[0:4, 0:4], axis=1)"), HasSubstr("cumsum axis 1("));
  EXPECT_THAT(of("y = ts.tile.cummax(A[0, 0:4])"), HasSubstr("cummax axis 0("));
  EXPECT_THAT(of("y = ts.tile.rand(s, 7 + ts.tile.arange(8))"),
              HasSubstr("<8xf32> = rand(cast i64(s), cast i64("));
  EXPECT_THAT(of("y = ts.tile.group.sum(f) + ts.group.max(f)"),
              HasSubstr("add(group_reduce sum(f), group_reduce max(f))"));
  EXPECT_THAT(of("y = ts.tile.lane_id() + s"),
              HasSubstr(": i64 = add(cast i64(lane_id_in_group), cast i64(s))"));
  EXPECT_THAT(of("y = ts.tile.arange(s, s + 8)"), HasSubstr("<8xi32> = arange(s)<8xi32>"));
  EXPECT_THAT(of("y = ts.tile.arange(M, M + 8)"),
              HasSubstr(": <8xi64> = add(broadcast(dim M)<8xi64>, cast i64(arange(0:i32)<8xi32>))"));
  EXPECT_THAT(of("y = ts.tile.arange(-4, 4)"), HasSubstr(": <8xi32> = arange(-4:i32)<8xi32>"));
  EXPECT_THAT(of("y = ts.tile.full((4,), 7)"), HasSubstr("broadcast(7:i32)<4xi32>"));
  EXPECT_THAT(of("y = ts.tile.causal_mask(A[0:4, 0:4], s, 0)"),
              HasSubstr("causal_mask(load A[0 +4, 0 +4]<4x4xf32>, cast i64(s), 0)"));
  EXPECT_THAT(of("y = ~s ^ (s << 2) | 1"), HasSubstr("or(xor(invert(s), shl(s, 2:i32)), 1:i32)"));
}

} // namespace
} // namespace tessera::frontend::test
