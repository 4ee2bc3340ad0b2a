#include "compiler/frontend/test/TestSupport.h"
#include <gmock/gmock.h>

namespace tessera::frontend::test {
namespace {

std::string text(const std::string &source) {
  std::vector<Signature> list;
  std::vector<Diagnostic> diags;
  std::string out;
  if (signatures(source, "s.py", list, diags) != CompileStatus::Ok) return render(diags.at(0), false);
  for (const Signature &s : list) {
    out += (s.isGraphFunction ? "graph " : "kernel ") + s.kernel;
    for (const SignatureParam &p : s.params) {
      out += " " + p.name + ":" + p.dtype;
      if (p.isTensor) {
        out += "[";
        for (const std::string &d : p.dims)
          out += d + ";";
        out += "]";
      }
      out += std::string(p.reads ? "r" : "") + (p.writes ? "w" : "") + (p.isResult ? "!" : "");
      if (p.defaultValue)
        out +=
            "=" + std::visit([](auto v) { return std::to_string(static_cast<int64_t>(v)); }, *p.defaultValue);
    }
    for (const auto &[name, space] : s.tunables)
      out += " " + name + "x" + std::to_string(space.size());
    out += "\n";
  }
  return out;
}

const std::string kHead = "import tessera as ts\n";

TEST(Signature, ParametersEffectsAndTunables) {
  EXPECT_EQ(text(kHead + "@ts.kernel.autotune(space=dict(B=[8, 16]))\n"
                         "def k(A: ts.Tensor[\"B*H\", 64, ts.bf16], C: ts.Tensor[\"M\", ts.f32], D: "
                         "ts.Tensor[\"M\", ts.i32], s: ts.i32 = 7, c: bool = True):\n"
                         "    C[0] += A[0, 0]\n    ts.tile.atomic_add(D, 0, 1)\n"),
            "kernel k A:bf16[B*H;64;]r C:f32[M;]rw D:i32[M;]rw s:i32=7 c:bool=1 Bx2\n");
}

TEST(Signature, FollowsHelpersAndAliases) {
  EXPECT_EQ(text(kHead + "def put(T, v):\n    T[0] = v\ndef get(T):\n    return ts.tile.load(T, (0,), (4,))\n"
                         "@ts.kernel\ndef k(A: ts.Tensor[\"M\", ts.f32], B: ts.Tensor[\"M\", ts.f32], C: "
                         "ts.Tensor[\"M\", ts.f32]):\n"
                         "    put(v=get(A), T=B)\n    X = C\n    ts.tile.store(X[0:4], 1.0)\n"),
            "kernel k A:f32[M;]r B:f32[M;]w C:f32[M;]w\n");
}

TEST(Signature, ResultsThatAreNoParameters) {
  std::string t = "ts.Tensor[\"M\", ts.f32]";
  EXPECT_EQ(text(kHead + "@ts.kernel\ndef k(A: " + t + ") -> " + t + ":\n    return A[tile_m:tile_m+4]\n"),
            "kernel k A:f32[M;]r result:f32[M;]w!\n");
  EXPECT_EQ(text(kHead + "@ts.kernel\ndef k(A: " + t + ") -> (" + t + ", " + t +
                 "):\n    A[0] = 1.0\n    return A, A[tile_m:tile_m+4]\n"),
            "kernel k A:f32[M;]rw result1:f32[M;]w!\n");
}

TEST(Signature, GraphFunctionsMayLackTypes) {
  EXPECT_EQ(text(kHead + "@ts.jit\n@ts.autodiff\ndef train_step(x, y, W):\n    pred = ts.gemm(x, W)\n    "
                         "loss = ts.mse(pred, y)\n    return loss\n"),
            "graph train_step x:[]r y:[]r W:[]r\n");
}

TEST(Signature, GraphFunctionsHaveTheResultsOfTheirBody) {
  std::string t = "ts.Tensor[\"M\", \"N\", ts.f32]";
  EXPECT_EQ(text(kHead +
                 "@ts.kernel\ndef add(x: ts.Tensor[\"n\", ts.f32], y: ts.Tensor[\"n\", ts.f32]):\n"
                 "    i = ts.tile.linear_id()\n    if i < n:\n        y[i] += x[i]\n"
                 "@ts.jit\ndef f(x: " +
                 t +
                 ", s: ts.Tensor[\"N\", ts.f32], k: ts.f32 = 2.0):\n"
                 "    add(ts.sum(x, axis=0), s)\n    return ts.concat([x, x]) * k, ts.mean(x)\n"),
            "kernel add x:f32[n;]r y:f32[n;]rw\n"
            "graph f x:f32[M;N;]r s:f32[N;]rw k:f32=2 result0:f32[2*M;N;]w! result1:f32[]w!\n");
  // A body with errors is refused when it is compiled; until then the annotation says what comes out.
  EXPECT_EQ(text(kHead + "@ts.jit\ndef f(x: " + t + ") -> " + t + ":\n    return x @ x\n"),
            "graph f x:f32[M;N;]r result:f32[M;N;]w!\n");
  EXPECT_THAT(text(kHead + "@ts.jit\ndef f(x: " + t + "):\n    return x @ x\n"),
              testing::HasSubstr("E_SHAPE"));
}

TEST(Signature, ReportsErrors) {
  EXPECT_THAT(text(kHead + "@ts.kernel\ndef k(x):\n    pass\n"), testing::HasSubstr("E_PARAMETER"));
}

} // namespace
} // namespace tessera::frontend::test
