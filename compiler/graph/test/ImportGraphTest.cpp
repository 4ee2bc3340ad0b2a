// Graph functions as Graph IR: every op of the language has one that verifies, and losses are spelled out.
#include "compiler/frontend/Frontend.h"
#include "compiler/graph/Import/Import.h"
#include "mlir/IR/Verifier.h"
#include "gmock/gmock.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The Graph IR of a function over x, y: f32 [M, K], w: f32 [K, N], q: bf16 [B, 4, S, 64], i: i32 [M] and s:
/// f32.
std::string graphOf(const std::string &body) {
  std::string source =
      "import tessera as ts\n@ts.kernel\ndef scale(X: ts.Tensor[\"P\", ts.f32], s: ts.f32):\n"
      "    l = ts.tile.linear_id()\n    if l < P:\n        X[l] = X[l] * s\n"
      "@ts.jit\ndef f(x: ts.Tensor[\"M\", \"K\", ts.f32], y: ts.Tensor[\"M\", \"K\", ts.f32], "
      "w: ts.Tensor[\"K\", \"N\", ts.f32], q: ts.Tensor[\"B\", 4, \"S\", 64, ts.bf16], "
      "i: ts.Tensor[\"M\", ts.i32], s: ts.f32):\n" +
      body;
  frontend::FrontendOptions options;
  options.kernel = "f";
  frontend::Program program;
  std::vector<Diagnostic> diags;
  if (frontend::compileToProgram(source, options, program, diags) != CompileStatus::Ok)
    return render(diags.front(), false);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = graph::importGraph(context, std::get<frontend::GraphFunction>(program), "f.py", "standard");
  if (!module || failed(mlir::verify(*module))) return "does not verify";
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out);
  return text;
}

TEST(ImportGraph, EveryOpVerifies) {
  const char *expressions[] = {
      "-x",
      "ts.abs(x) + ts.exp(x) - ts.exp2(x) * ts.log(x) / ts.log2(x)",
      "ts.sqrt(x) // ts.rsqrt(x) % ts.tanh(x) ** ts.sigmoid(x)",
      "ts.erf(x) + ts.sin(x) + ts.cos(x) + ts.relu(x) + ts.silu(x) + ts.gelu(x) + ts.gelu(x, "
      "approximate='tanh')",
      "ts.minimum(x, y), ts.maximum(x, s), ts.minimum(2.0, x)",
      "(x < y) & (x <= y) | (x > y) ^ ~(x >= y), x == y, x != s",
      "(i & 3) | (i ^ 5) | (i << 2) | (i >> 1)",
      "ts.where(x > 0, x, 0), ts.where(x > 0, s, y)",
      "ts.cast(x, ts.bf16), x.astype(ts.i32), ts.cast(i, ts.u8), ts.cast(x, ts.bool)",
      "x @ w, x.T @ y, x @ y.T, q @ q.T, ts.matmul(q, q.T, dtype=ts.f32)",
      "ts.sum(x), ts.mean(x, axis=0), ts.max(x, axis=-1, keepdims=True), ts.min(x), ts.prod(x, axis=(0, 1))",
      "ts.argmax(x), ts.argmin(x, axis=0), ts.argmax(x, keepdims=True)",
      "ts.sum(ts.sum(x)), ts.mean(ts.mean(x))",
      "ts.softmax(x), ts.log_softmax(q, axis=1)",
      "ts.layer_norm(x, w[:, 0]), ts.layer_norm(x, beta=w[:, 0]), ts.rms_norm(q), ts.rms_norm(x, w[:, 0])",
      "ts.transpose(q, (2, 0, 3, 1)), x.T, x.transpose()",
      "x.reshape(-1), x.reshape(K, M), ts.sum(x).reshape(1, 1)",
      "ts.broadcast_to(x, (3, M, K)), ts.broadcast_to(s, (M,)), ts.broadcast_to(2, (M,))",
      "ts.concat([x, y], axis=1), ts.concat([i, i, i])",
      "x[1:, 0:K - 1], x[-1], x[:, None, 3], q[0, 1, :, 2:7]",
      "ts.split(x.reshape(M * K // K, K)[0:4], 4)[1]",
      "ts.zeros((M, 2)), ts.full((M,), 1, ts.u8), ts.full((2,), s), ts.arange(M), ts.zeros((3,), ts.bool)",
      "ts.embedding(w, i), ts.embedding(q, i)",
      "ts.gather(q, i, axis=2), ts.gather(x, ts.argmax(x), axis=1), ts.gather_elements(x, "
      "x[0:2].astype(ts.i32))",
      "ts.gather_nd(q, ts.full((M, 2), 1, ts.i64)), ts.gather_nd(x, i[:, None, None], batch_dims=1)",
      "x[::2, ::-1], x[0, 5:2:-1], ts.flip(q, axis=(1, 3)), ts.pad(x, ((0, M), (1, 2)), value=s)",
      "ts.pad(x, 1, mode=\"edge\"), ts.pad(q, ((0, 0), (0, 0), (1, 1), (0, 0)), mode=\"wrap\")",
      "ts.op.tile(x, (2, 3)), ts.repeat(x, 2, axis=1), ts.repeat(q, K), ts.norm(x, 1, axis=0)",
      "ts.cumsum(x), ts.cumprod(q, axis=-2), ts.cummin(i), ts.argmax(q, axis=2, select_last=True), ts.max(x "
      "> 0.0)",
      "ts.einsum(\"ij,jk\", x, w), ts.einsum(\"...i,ij->j...\", x, w), ts.einsum(\"ij,ij->\", x, y)",
      "ts.scatter(x, i, x), ts.scatter_elements(x, x.astype(ts.i64), y, axis=1, reduction=\"max\")",
      "ts.scatter_nd(x, ts.full((4, 2), 0, ts.i32), ts.full((4,), 1.0), reduction=\"add\")",
      "ts.sort(x), ts.argsort(q, axis=1, descending=True), ts.topk(x, 3, axis=0, largest=False)[1]",
      "ts.op.flash_attention(q, q[:, 0:2], q[:, 0:2], is_causal=True), ts.op.flash_attention(x, y, y, "
      "scale=0.5), ts.op.flash_attention(x, y, y, bias=x[0, 0:1], mask=i > 0, softcap=5.0)",
      "ts.mse(x, y), ts.mse(ts.sum(x), ts.sum(y)), ts.mse(q, q)",
      "ts.cross_entropy(x, i), ts.cross_entropy(w[0], ts.argmax(w[0]), weights=w[1], "
      "label_smoothing=0.1), ts.cross_entropy(x, i, reduction=\"none\")",
      "x * K, x / (2.0 * K) ** 0.5, x * (s if K == K else 1.0), x * ts.f32(K // 2) * (s + 1.0)",
      "x * float('inf'), x * -1, i * -1",
  };
  for (const char *e : expressions)
    EXPECT_THAT(graphOf(std::string("    return ") + e + "\n"), HasSubstr("graph.return")) << e;
}

TEST(ImportGraph, LossesAreSpelledOut) {
  std::string text = graphOf("    return ts.cross_entropy(x, i)\n");
  for (const char *op : {"graph.reduce max", "graph.unary exp", "graph.unary log", "graph.iota 0",
                         "graph.select", "graph.reduce sum"})
    EXPECT_THAT(text, HasSubstr(op));
  EXPECT_THAT(graphOf("    return ts.mse(q, q)\n"), HasSubstr("graph.cast"));
}

TEST(ImportGraph, SortsWriteTensorsThatNothingFills) {
  std::string text = graphOf("    return ts.sort(x)\n");
  EXPECT_THAT(text, HasSubstr("graph.empty : !graph.tensor<"));
  EXPECT_THAT(text, HasSubstr("graph.launch @ts.sort_f32(read %arg0, write %0, write %1)"));
}

TEST(ImportGraph, LaunchesUpdateInPlace) {
  std::string text = graphOf("    v = x.reshape(-1)\n    scale(v, s)\n    return v\n");
  EXPECT_THAT(text, HasSubstr("graph.launch @scale(readwrite %0, %arg5)"));
  EXPECT_THAT(text, HasSubstr("schedule.kernel @scale("));
  EXPECT_THAT(text, HasSubstr("returns = [\"result\"]"));
  EXPECT_THAT(text, Not(HasSubstr(".host")));
}

TEST(ImportGraph, ParametersInTheOrderOfTheAbi) {
  std::string text = graphOf("    return x + y\n");
  size_t last = 0;
  for (const char *entry :
       {"name = \"x\"", "name = \"i\"", "name = \"result\"", "name = \"s\"", "name = \"M\", kind = dim"}) {
    size_t at = text.find(entry);
    ASSERT_NE(at, std::string::npos) << entry;
    EXPECT_GT(at, last) << entry;
    last = at;
  }
}

} // namespace
} // namespace tessera
