// Graph functions: what their programs look like.
#include "compiler/frontend/test/TestSupport.h"
#include <algorithm>
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

using testing::HasSubstr;

std::string of(const std::string &body, const std::string &result = "", FrontendOptions options = {}) {
  options.kernel = "k";
  std::string text = compile(graphWith(body, result), options).text();
  size_t values = std::min(text.find("  %"), text.find("  launch"));
  return text.starts_with("graph") && values != std::string::npos ? text.substr(values) : text;
}

TEST(Graph, AnEpilogue) {
  Outcome out = compile("import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor[\"M\", \"K\", ts.bf16], w: "
                        "ts.Tensor[\"N\", \"K\", ts.bf16], b: ts.Tensor[\"N\", ts.bf16], s: ts.f32 = 2.0) -> "
                        "ts.Tensor[\"M\", \"N\", ts.f32]:\n    return ts.gelu(x @ w.T + b) * s\n");
  EXPECT_EQ(out.text(), R"(graph f
  param x : [M, K] bf16 reads
  param w : [N, K] bf16 reads
  param b : [N] bf16 reads
  param s : f32 = 2
  result result : [M, N] f32 writes
  dims M K N
  %4 = transpose(w) {1, 0} : [K, N] bf16
  %5 = matmul(x, w) {0, 1} : [M, N] bf16
  %6 = add(%5, b) : [M, N] bf16
  %7 = gelu(%6) : [M, N] bf16
  %8 = cast(%7) : [M, N] f32
  %9 = mul(%8, s) : [M, N] f32
  return result = %9
)");
}

TEST(Graph, LiteralsAreWeakAndDimsAreNumbers) {
  EXPECT_EQ(of("return b * 2 + 1.5"), R"(  %6 = const 2 : bf16
  %7 = mul(b, %6) : [M, K] bf16
  %8 = const 1.5 : bf16
  %9 = add(%7, %8) : [M, K] bf16
  return result = %9
)");
  EXPECT_EQ(of("return x / (2 * K)"), R"(  %6 = extent '2*K' : [] i64
  %7 = cast(%6) : [] f32
  %8 = div(x, %7) : [M, K] f32
  return result = %8
)");
  EXPECT_THAT(of("return x * math.sqrt(4.0)"), HasSubstr("const 2 : f32"));
  EXPECT_THAT(of("return x * f * 2.0 if K > 1 else x"), HasSubstr("select(%11, %8, x)"));
}

/// Launches in the text of a function of one parameter.
size_t launches(const std::string &parameter, const std::string &result, bool sharesTiles,
                const std::string &of) {
  FrontendOptions options;
  options.sharesTiles = sharesTiles;
  const std::string text = compile("import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor[" + parameter +
                                       "]):\n  return " + result + "\n",
                                   options)
                               .text();
  size_t count = 0;
  const std::string name = " ts." + of + "(";
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    ++count;
  return count;
}

TEST(Graph, LongRowsAreMergedWhereThreadsShareTiles) {
  const std::string any = "\"M\", \"N\", ts.f32";
  EXPECT_EQ(launches(any, "ts.sort(x)", false, "sort_f32"), 1u);
  EXPECT_EQ(launches(any, "ts.sort(x)", true, "sort_f32_runs"), 1u);
  // 4096 * 4 ** 10 is above the most elements that a row has.
  EXPECT_EQ(launches(any, "ts.sort(x)", true, "sort_f32_merge"), 10u);
  EXPECT_EQ(launches("4096, ts.f32", "ts.sort(x)", true, "sort_f32_of_4096"), 1u);
  EXPECT_EQ(launches("16384, ts.f32", "ts.sort(x)", true, "sort_f32_of_16384_merge"), 1u);
  EXPECT_EQ(launches("16385, ts.f32", "ts.sort(x)", true, "sort_f32_of_16385_merge"), 2u);
  // Parts of 1024 elements, of which topk keeps 8.
  EXPECT_EQ(launches("16385, ts.i64", "ts.argsort(x)", true, "argsort_i64_of_16385_merge"), 3u);
  EXPECT_EQ(launches("16384, ts.i64", "ts.topk(x, 8)[0]", true, "topk_i64_descending_8_of_16384_merge"), 2u);
}

TEST(Graph, SubscriptsByTuples) {
  // As in NumPy a tuple that is the whole subscript gives its items, and one that is an item is a list.
  const std::string list = of("return x[[0, 1]]");
  for (const char *text : {"x[(0, 1),]", "x[((0, 1),)]", "x[[0, 1],]"})
    EXPECT_EQ(of(std::string("return ") + text), list) << text;
  for (const char *text : {"x[t,]", "x[(t,)]"})
    EXPECT_EQ(of(std::string("t = (0, 1)\nreturn ") + text), list) << text;
  EXPECT_EQ(of("t = (0, 1)\nreturn x[t]"), of("return x[0, 1]"));
  EXPECT_EQ(of("t = ((0, 1), (1, 0))\nreturn x[t]"), of("return x[[0, 1], [1, 0]]"));
  EXPECT_THAT(of("return x[(),]"), HasSubstr(" : [0, K] f32"));
}

TEST(Graph, AListAtEqualDistancesIsASlice) {
  // It leaves no operations of indices that nothing reads.
  EXPECT_EQ(of("return x[[2, 1, 0]]"), R"(  %6 = slice(x) {-1, 1} '2' '0' : [3, K] f32
  check M - 1
  check M - 2
  check M - 3
  return result = %6
)");
  EXPECT_EQ(of("return x[:, [0, 2, 4]]"), R"(  %6 = slice(x) {1, 2} '0' '0' : [M, 3] f32
  check K - 5
  check K - 3
  check K - 1
  return result = %6
)");
}

TEST(Graph, Products) {
  EXPECT_THAT(of("return x @ w"), HasSubstr("matmul(x, w) {0, 0} : [M, N] f32"));
  EXPECT_THAT(of("return ts.gemm(x, y, trans_b=True)"), HasSubstr("matmul(x, y) {0, 1} : [M, M] f32"));
  EXPECT_THAT(of("return ts.matmul(b.T, b, dtype=ts.f32)"), HasSubstr("matmul(b, b) {1, 0} : [K, K] f32"));
  EXPECT_THAT(of("return x[:, None, :] @ w"), HasSubstr(" {0, 0} : [M, 1, N] f32"));
  EXPECT_THAT(of("return x.reshape(1, M, K) @ ts.zeros((3, 4, K, 2))"),
              HasSubstr(" {0, 0} : [3, 4, M, 2] f32"));
  // A vector is a row on the left and a column on the right, as in NumPy.
  EXPECT_THAT(of("v = w @ ts.zeros((N,)); return v"),
              AllOf(HasSubstr(" {0, 0} : [K, 1] f32"), HasSubstr(": [K] f32")));
  EXPECT_THAT(of("return ts.zeros((M,)) @ x"), HasSubstr(": [K] f32"));
  EXPECT_THAT(of("v = ts.zeros((K,)); return v @ v + x"), HasSubstr(" {0, 0} : [1, 1] f32"));
  EXPECT_THAT(of("return ts.matmul(ts.zeros((M,)), x, trans_a=True)"),
              HasSubstr("a vector is not transposed: it is a row on the left, a column on the right"));
  EXPECT_THAT(of("return ts.roll(x, (1, 2, 3), axis=(0, 1))"),
              HasSubstr("'roll' takes one shift, or one for each axis: found 3 for 2"));
}

TEST(Graph, Reductions) {
  EXPECT_THAT(of("return ts.sum(x)"), HasSubstr("sum(x) {0, 1} : [] f32"));
  EXPECT_THAT(of("return ts.max(x, axis=-1, keepdims=True)"), HasSubstr("max(x) {1} keep : [M, 1] f32"));
  EXPECT_THAT(of("return x.mean(axis=(1, 0))"), HasSubstr("mean(x) {0, 1} : [] f32"));
  EXPECT_THAT(of("return ts.argmax(x)"), HasSubstr("argmax(%6) {0} : [] i32"));
  EXPECT_THAT(of("return ts.sum(x > 0.0, axis=0)"), HasSubstr("sum(%8) {0} : [K] i32"));
}

TEST(Graph, Shapes) {
  EXPECT_THAT(of("return x.reshape(-1)"), HasSubstr("reshape(x) : [K*M] f32"));
  EXPECT_THAT(of("return x.reshape(2, M, -1) if False else ts.concat([x, y]).reshape(2, M, -1)"),
              HasSubstr(" : [2, M, K] f32"));
  EXPECT_THAT(of("return x[1:, K - 1]"), HasSubstr("slice(x) '1' 'K - 1' : [M - 1, 1] f32"));
  EXPECT_THAT(of("return x[1:, K - 1]"), HasSubstr("reshape(%6) : [M - 1] f32"));
  EXPECT_THAT(of("return x[1:, K - 1]"), HasSubstr("  check M - 1\n  check K - 1\n"));
  EXPECT_THAT(of("return x[:M, 0:K - K]"), testing::Not(HasSubstr("check")));
  EXPECT_THAT(of("return ts.zeros((M - K,)), ts.arange(K - M)"), HasSubstr("  check M - K\n  check K - M\n"));
  EXPECT_THAT(of("return ts.arange(2, 5)"), HasSubstr("iota {0} : [3] i32"));
  EXPECT_THAT(of("return ts.arange(9, 0, -2)"), HasSubstr("iota {0} : [5] i32"));
  EXPECT_THAT(of("return ts.arange(5, 2)"), HasSubstr("iota {0} : [0] i32"));
  EXPECT_THAT(of("return ts.arange(2, M, 3)"), HasSubstr("iota {0} : [M // 3] i32"));
  EXPECT_THAT(of("return ts.arange(M, M + 4)"), HasSubstr(" : [4] i64"));
  EXPECT_THAT(of("return i + M"), HasSubstr(" : [M] i64"));
  EXPECT_THAT(of("return x[-1, None]"), HasSubstr("slice(x) 'M - 1' '0' : [1, K] f32"));
  EXPECT_EQ(of("return x[:, :]"), "  %6 = reshape(x) : [M, K] f32\n  return result = %6\n"); // a copy
  EXPECT_EQ(of("return x.astype(x.dtype)"), "  %6 = reshape(x) : [M, K] f32\n  return result = %6\n");
  EXPECT_THAT(of("p, q = ts.split(ts.concat([x, y], axis=1), 2, axis=1)\nreturn q"),
              HasSubstr("slice(%6) '0' 'K' : [M, K] f32"));
  EXPECT_THAT(of("return ts.full((M, 2), 7, ts.i32)"), HasSubstr("broadcast(%6) : [M, 2] i32"));
  EXPECT_THAT(of("return ts.embedding(x, i)"), HasSubstr(") {-1, 1} : [M, K] f32"));
}

TEST(Graph, ChecksOfACallNameTheirLine) {
  const std::string source = graphWith("z = x\nreturn z[1:, K - 1], ts.arange(M, K)");
  const auto lines = 1 + std::ranges::count(source.substr(0, source.find("return z")), '\n');
  Outcome out = compile(source, withKernel("k"));
  ASSERT_TRUE(out.ok()) << out.text();
  EXPECT_EQ(out.graph->checks.size(), 3u);
  for (const GraphFunction::Check &c : out.graph->checks)
    EXPECT_THAT(c.says, HasSubstr("(line " + std::to_string(lines) + ")"));
}

/// What a launch checks about integer parameters, which may be negative and whose arithmetic wraps.
TEST(Graph, AssumptionsOfParameters) {
  auto checks = [](const std::string &condition, const std::string &parameters) {
    Outcome out =
        compile("import tessera as ts\n@ts.jit\ndef inner(x: ts.Tensor[\"A\", ts.f32], low: ts.i64):\n"
                "    ts.assume(low < A)\n    return x + x\n@ts.jit\ndef k(x: ts.Tensor[\"M\", ts.f32], " +
                    parameters + "):\n    " + condition + "\n",
                withKernel("k"));
    if (!out.ok()) return out.text();
    std::string text;
    for (const GraphFunction::Check &c : out.graph->checks)
      text += c.value + ": " + c.says.substr(0, c.says.find(" (line")) + "\n";
    return text;
  };
  EXPECT_EQ(checks("ts.assume(low >= 0)\n    return x + x", "low: ts.i64"),
            "low - 0: low >= 0 does not hold\n");
  EXPECT_EQ(checks("ts.assume(low % 4 == 0 and low <= M)\n    return x + x", "low: ts.i32"),
            "-(low % 4): low % 4 == 0 does not hold\nM - low: low <= M does not hold\n");
  EXPECT_EQ(checks("ts.assume(low * 2 > M // 2)\n    return x + x", "low: ts.i8"),
            "(low * 2 + 128) % 256 - 128 - M // 2 - 1: low * 2 > M // 2 does not hold\n");
  EXPECT_EQ(checks("return inner(x, low - 1)", "low: ts.i64"), "M - (low - 1) - 1: low < A does not hold\n");
}

TEST(Graph, ErrorsSpellExtentsAsTheLanguageDoes) {
  EXPECT_THAT(of("return x[:, :K // 2] + x"), HasSubstr("K // 2"));
  EXPECT_THAT(of("return x[:M % 4 + 1] + x"), HasSubstr("M % 4 + 1"));
  EXPECT_THAT(of("return ts.arange(M // 2 * K) + x"), HasSubstr("(M // 2)*K"));
}

TEST(Graph, LibraryOps) {
  EXPECT_THAT(of("return ts.layer_norm(b, gamma=x[0])"),
              HasSubstr("layer_norm(%8, %7, none) {1} eps 1e-05 : [M, K] f32"));
  EXPECT_THAT(of("return ts.rms_norm(x)"), HasSubstr("rms_norm(x, none) {1} eps 1e-06"));
  EXPECT_THAT(of("return ts.op.flash_attention(x, y, y, causal=True)"),
              HasSubstr("attention(x, y, y) {1} scale default : [M, K] f32"));
  EXPECT_THAT(of("return ts.mse(b, b)", "ts.Tensor[ts.f32]"), HasSubstr("mse(%6, %7) : [] f32"));
}

TEST(Graph, HeadsOfAttention) {
  auto attend = [](const std::string &q, const std::string &k) {
    return compile("import tessera as ts\n@ts.jit\ndef f(q: ts.Tensor[" + q +
                   ", \"S\", \"D\", ts.f32], k: ts.Tensor[" + k +
                   ", \"T\", \"D\", ts.f32]):\n    return ts.flash_attention(q, k, k)\n")
        .text();
  };
  const std::string says = "are not known to be a multiple of";
  for (const char *q : {"\"Hk\"", "\"4*Hk\"", "\"G*Hk\"", "\"Hk*G\"", "\"2*G*Hk\""})
    EXPECT_THAT(attend(q, "\"Hk\""), HasSubstr("attention(q, k, k)")) << q;
  EXPECT_THAT(attend("\"G*A*B\"", "\"A*B\""), HasSubstr("attention(q, k, k)"));
  for (const char *q : {"\"Hq\"", "\"G*Hkk\"", "\"Hk + 1\"", "4"})
    EXPECT_THAT(attend(q, "\"Hk\""), AllOf(HasSubstr("E_SHAPE"), HasSubstr(says))) << q;
}

TEST(Graph, LoopsAndConstantConditions) {
  EXPECT_EQ(of("for t in range(3):\n    if t % 2 == 0:\n        x = x + t\nreturn x"), R"(  %6 = const 0 : f32
  %7 = add(x, %6) : [M, K] f32
  %8 = const 2 : f32
  %9 = add(%7, %8) : [M, K] f32
  return result = %9
)");
}

/// What a scalar may be used for does not depend on how it was computed: an expression that has grown in an
/// unrolled loop and an activation are computed once, and remain scalars.
TEST(Graph, ComputedScalarsRemainScalars) {
  const std::string grows = "v = f\nfor t in range(100):\n    v = v * 0.5 + 1.0\n";
  for (const std::string &computed :
       {grows, std::string("v = ts.relu(f)\n"), "v, u = ts.silu(f), f\n" + grows, grows + "v = ts.gelu(v)\n"})
    for (const char *use : {"return x * ts.f32(0.0 < v < 1.0)",
                            "return x * ts.f32(v < 1.0 and not v < 0.0)",
                            "return x * (v if v else f)",
                            "return x * (f if v > 0.0 or f > 1.0 else v)",
                            "return x * abs(v)",
                            "return x * max(v, 1.0)",
                            "return ts.where(v > 0.0, x, y)",
                            "return ts.where(x > v, v, y)",
                            "return ts.full((M,), v, ts.f32)",
                            "return ts.broadcast_to(v, (M, K))",
                            "return x * ts.bf16(v)",
                            "return x + ts.i32(v)",
                            "return twice(v)",
                            "return ts.sum(v)",
                            "return v",
                            "return x[ts.i64(v)]",
                            "return v[0]",
                            "return v.shape",
                            "return ts.concat([v, v])",
                            "scale(x, v)",
                            "scale(v, f)",
                            "if v > 0.0:\n    x = y\nreturn x",
                            "for r in range(ts.i32(v)):\n    x = y\nreturn x"}) {
      const Outcome got = compile(graphWith(computed + use), withKernel("k"));
      const Outcome expected = compile(graphWith("v = f + 1.0\n" + std::string(use)), withKernel("k"));
      ASSERT_EQ(got.ok(), expected.ok()) << use << "\n" << got.text();
      if (!got.ok()) EXPECT_EQ(got.diags[0].code, expected.diags[0].code) << use;
    }
  const Outcome once = compile(graphWith(grows + "return x * v * v"), withKernel("k"));
  ASSERT_TRUE(once.ok()) << once.text();
  EXPECT_LT(once.graph->values.size(), 600u); // the expression is not repeated at its uses
}

TEST(Graph, KernelsUpdateEveryNameOfTheirTensor) {
  EXPECT_EQ(of("z = y\nscale(z, f)\nt = x + 1.0\nscale(t, 2.0)\nreturn y + t, y"), R"(  launch.6 scale(y, f)
  %7 = launch_result(%6) {0} : [M, K] f32
  %8 = const 1 : f32
  %9 = add(x, %8) : [M, K] f32
  %10 = const 2 : f32
  launch.11 scale(%9, %10)
  %12 = launch_result(%11) {0} : [M, K] f32
  %13 = add(%7, %12) : [M, K] f32
  return y = %7
  return result0 = %13
)");
}

TEST(Graph, ATransposeOfAnOldValueIsNoFlag) {
  EXPECT_EQ(of("t = x.T\nscale(x, 2.0)\nreturn t @ y"), R"(  %6 = transpose(x) {1, 0} : [K, M] f32
  %7 = const 2 : f32
  launch.8 scale(x, %7)
  %9 = launch_result(%8) {0} : [M, K] f32
  %10 = matmul(%6, y) {0, 0} : [K, K] f32
  return x = %9
  return result = %10
)");
}

TEST(Graph, GraphFunctionsInline) {
  EXPECT_EQ(of("return twice(twice(x))"), R"(  %6 = add(x, x) : [M, K] f32
  %7 = add(%6, %6) : [M, K] f32
  return result = %7
)");
}

TEST(Graph, KernelsSpecialiseTheCaller) {
  std::string source = "import tessera as ts\n@ts.kernel\ndef rows(X: ts.Tensor[\"R\", \"C\", ts.f32]):\n"
                       "    for r in ts.tile.parallel(0, R, 4):\n        X[r:r+4, :] = X[r:r+4, :] * 2.0\n"
                       "@ts.jit\ndef f(x: ts.Tensor[\"M\", \"D\", ts.f32]):\n    rows(x)\n"
                       "    t = ts.zeros((8, 32))\n    rows(t)\n    return t\n";
  FrontendOptions options = withDims({{"D", 16}});
  options.kernel = "f";
  std::string text = compile(source, options).text();
  EXPECT_THAT(text, HasSubstr("specialized D=16"));
  EXPECT_THAT(text, HasSubstr("uses rows\n  uses rows.1\n"));
  EXPECT_THAT(text, HasSubstr("launch_result(%1) {0} : [M, 16] f32"));
  options.dims.clear();
  EXPECT_THAT(compile(source, options).text(), HasSubstr("[E_DIM_NOT_STATIC] in kernel 'rows'"));
}

TEST(Graph, ProductDims) {
  std::string head = "import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor[\"S\", \"H*K\", ts.f32]";
  EXPECT_THAT(
      compile(head + ", w: ts.Tensor[\"H\", \"K\", ts.f32]):\n    return x.reshape(S, H, K) * w\n").text(),
      HasSubstr("reshape(x) : [S, H, K] f32"));
  EXPECT_THAT(compile(head + "):\n    return x.reshape(-1)\n").text(), HasSubstr("reshape(x) : [H*K*S] f32"));
}

TEST(Graph, SeveralErrorsInLineOrder) {
  Outcome out = compile(graphWith("a = x + w\nb2 = x @ y\nx[0, 0] = 1.0\nreturn a"), withKernel("k"));
  ASSERT_EQ(out.diags.size(), 3u) << out.text();
  EXPECT_EQ(out.diags[0].code, "E_SHAPE");
  EXPECT_THAT(out.diags[0].message,
              HasSubstr("'x' [M, K] and 'w' [K, N] do not broadcast: M would have to equal K"));
  EXPECT_THAT(out.diags[1].message, HasSubstr("sums over K and M, which would have to be equal"));
  EXPECT_EQ(out.diags[2].code, "E_IN_PLACE");
}

} // namespace
} // namespace tessera::frontend::test
