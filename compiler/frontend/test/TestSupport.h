// Helpers of the frontend's tests: compile a snippet, look at what came out.
#pragma once
#include "compiler/frontend/Frontend.h"
#include <gtest/gtest.h>
#include <string>

namespace tessera::frontend::test {

struct Outcome {
  CompileStatus status;
  Kernel kernel;
  std::optional<GraphFunction> graph; // in place of the kernel
  std::vector<Diagnostic> diags;

  bool ok() const { return status == CompileStatus::Ok; }
  std::string text() const {
    if (ok()) return graph ? dump(*graph) : dump(kernel);
    std::string out;
    for (const Diagnostic &d : diags)
      out += render(d, false);
    return out;
  }
};

inline Outcome compile(const std::string &source, FrontendOptions options = {}) {
  Outcome out;
  Program program;
  out.status = compileToProgram(source, options, program, out.diags);
  if (auto *kernel = std::get_if<Kernel>(&program))
    out.kernel = std::move(*kernel);
  else
    out.graph = std::move(std::get<GraphFunction>(program));
  return out;
}

inline FrontendOptions withDims(std::vector<std::pair<std::string, int64_t>> dims) {
  FrontendOptions o;
  o.dims = std::move(dims);
  return o;
}

inline FrontendOptions withKernel(const char *name) {
  FrontendOptions o;
  o.kernel = name;
  return o;
}

/// A kernel over A, B: f32 [M, N] and x: f32 [n] with the given body lines, each indented already by the
/// caller.
inline std::string kernelWith(
    const std::string &body,
    const std::string &parameters =
        "A: ts.Tensor[\"M\", \"N\", ts.f32], B: ts.Tensor[\"M\", \"N\", ts.f32], s: ts.i32, f: ts.f32") {
  std::string out = "import tessera as ts\nimport math\n\n@ts.kernel\ndef k(" + parameters + "):\n";
  size_t at = 0;
  while (at < body.size()) {
    size_t end = body.find('\n', at);
    if (end == std::string::npos) end = body.size();
    out += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// The same as a graph function over x, y: f32 [M, K], w: f32 [K, N], b: bf16 [M, K], i: i32 [M] and a scalar
/// f, with a kernel `scale(X, s)` that doubles in place and a graph function `twice`.
inline std::string graphWith(const std::string &body, const std::string &result = "") {
  std::string kernel =
      kernelWith(body, "x: ts.Tensor[\"M\", \"K\", ts.f32], y: ts.Tensor[\"M\", \"K\", ts.f32], "
                       "w: ts.Tensor[\"K\", \"N\", ts.f32], b: ts.Tensor[\"M\", \"K\", ts.bf16], "
                       "i: ts.Tensor[\"M\", ts.i32], f: ts.f32");
  kernel.replace(kernel.find("@ts.kernel"), 10, "@ts.jit");
  if (!result.empty()) kernel.insert(kernel.find("):\n") + 1, " -> " + result);
  size_t at = kernel.find("@ts.jit");
  return kernel.substr(0, at) +
         "@ts.kernel\ndef scale(X: ts.Tensor[\"P\", \"Q\", ts.f32], s: ts.f32):\n"
         "    for p in ts.tile.parallel(0, P, 8):\n        for q in ts.tile.parallel(0, Q, 8):\n"
         "            X[p:p+8, q:q+8] = X[p:p+8, q:q+8] * s\n\n"
         "@ts.jit\ndef twice(a: ts.Tensor[\"A\", \"B\", ts.f32]):\n    return a + a\n\n" +
         kernel.substr(at);
}

/// The text a diagnostic's caret range covers.
inline std::string marked(const Diagnostic &d) {
  if (d.line == 0 || d.col == 0 || d.col > d.sourceLine.size() + 1) return "";
  return d.sourceLine.substr(d.col - 1, d.endCol - d.col);
}

} // namespace tessera::frontend::test
