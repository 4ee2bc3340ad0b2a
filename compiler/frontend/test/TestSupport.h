// Helpers of the frontend's tests: compile a snippet, look at what came out.
#pragma once
#include "compiler/frontend/Frontend.h"
#include <gtest/gtest.h>
#include <string>

namespace tessera::frontend::test {

struct Outcome {
  CompileStatus status;
  Kernel kernel;
  std::vector<Diagnostic> diags;

  bool ok() const { return status == CompileStatus::Ok; }
  std::string text() const {
    if (ok()) return dump(kernel);
    std::string out;
    for (const Diagnostic &d : diags)
      out += render(d, false);
    return out;
  }
};

inline Outcome compile(const std::string &source, FrontendOptions options = {}) {
  Outcome out;
  out.status = compileToProgram(source, options, out.kernel, out.diags);
  return out;
}

inline FrontendOptions withDims(std::vector<std::pair<std::string, int64_t>> dims) {
  FrontendOptions o;
  o.dims = std::move(dims);
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

/// The text a diagnostic's caret range covers.
inline std::string marked(const Diagnostic &d) {
  if (d.line == 0 || d.col == 0 || d.col > d.sourceLine.size() + 1) return "";
  return d.sourceLine.substr(d.col - 1, d.endCol - d.col);
}

} // namespace tessera::frontend::test
