// Stands where libtessera-compiler.so would: "compiles" one-word sources, so that the runtime's side of the
// seam can be tested without MLIR. FAKE_COMPILER_REFUSES makes it act as one of another build.
#include "core/BuildId.h"
#include "core/CompilerService.h"
#include <cfenv>
#include <cstdlib>
#include <cstring>

using namespace tessera;

namespace {

void setAnswer(const uint64_t *v, int64_t, int64_t, uint8_t *) { *reinterpret_cast<int64_t *>(v[0]) = 42; }

class FakeCompiler final : public CompilerService {
  CompileStatus signatures(std::string_view source, const std::string &file, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags) noexcept override {
    if (source == "syntax") {
      Diagnostic d;
      d.code = "E_SYNTAX";
      d.message = "expected a statement";
      d.file = file;
      d.line = d.col = 1;
      d.sourceLine = source;
      diags.push_back(d);
      return CompileStatus::BadProgram;
    }
    auto add = [&](const char *name, bool isGraph) {
      Signature s;
      s.kernel = name;
      s.isGraphFunction = isGraph;
      out.push_back(std::move(s));
    };
    add("whole", true);
    if (source != "graph") add("first", false), add("second", false);
    return CompileStatus::Ok;
  }

  CompileStatus compile(std::string_view source, const CompileOptions &o, CompiledKernel &out,
                        std::vector<Diagnostic> &diags) noexcept override {
    if (source == "third" && std::fegetround() != FE_TONEAREST) return CompileStatus::BackendFailure;
    if (source == "silent") return CompileStatus::BackendFailure;
    if (source == "missing") {
      Diagnostic d;
      d.code = "E_UNIMPLEMENTED";
      d.message = "rand on dtype f64: backend cpu has none";
      diags.push_back(d);
      return CompileStatus::Unimplemented;
    }
    Diagnostic w;
    w.severity = Diagnostic::Severity::Warning;
    w.code = "W_UNUSED";
    w.message = o.target + " " + o.numerics + " dims " + std::to_string(o.dims.size()) + " tunables " +
                std::to_string(o.tunables.size());
    diags.push_back(w);
    out.metadata = "{name: " + o.kernel +
                   ", target: cpu, numerics: standard, params: [{name: out, kind: result, " +
                   "dtype: i64, dims: ['1'], access: write}], launch: {}}";
    out.entry = setAnswer;
    out.fallbacks = {"fp4 runs as fp6"};
    return CompileStatus::Ok;
  }

  CompileStatus emit(std::string_view, const CompileOptions &, Emit, std::string &,
                     std::vector<Diagnostic> &) noexcept override {
    return CompileStatus::Unimplemented;
  }
  std::string explain(std::string_view) noexcept override { return ""; }
  std::string version() noexcept override { return "fake"; }
};

} // namespace

extern "C" __attribute__((visibility("default"))) CompilerService *
tesseraCompilerService(const char *buildId) {
  static FakeCompiler compiler;
  if (std::getenv("FAKE_COMPILER_REFUSES") || std::strcmp(buildId, TESSERA_BUILD_ID) != 0) return nullptr;
  return &compiler;
}
