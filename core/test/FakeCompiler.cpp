// Replaces libtessera-compiler.so. It "compiles" one-word sources, so that the runtime's side of the
// interface can be tested without MLIR. FAKE_COMPILER_REFUSES makes it act like a library of another build.
#include "core/service/BuildId.h"
#include "core/service/CompilerService.h"
#include "core/test/Fixture.h"
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace tessera;

namespace {

/// Corresponds to LLVM's static objects: destroyed when the process ends.
struct Static {
  std::atomic<bool> isAlive{true};
  ~Static() { isAlive = false; }
} neededToCompile;

class FakeCompiler final : public CompilerService {
  CompileStatus signatures(std::string_view source, const std::string &file, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags, const Supplied &) noexcept override {
    if (source == "syntax" || source == "marked") {
      Diagnostic d;
      d.code = "E_SYNTAX";
      d.message = "expected a statement";
      d.file = file;
      d.line = d.col = 1;
      if (source == "marked") {
        d.endCol = 4;
        d.hint = "write one";
      }
      d.sourceLine = source;
      diags.push_back(d);
      return CompileStatus::BadProgram;
    }
    for (const char *name : {"first", "second"}) {
      Signature s;
      s.kernel = name;
      out.push_back(std::move(s));
    }
    return CompileStatus::Ok;
  }

  /// The definition is the first word of the source. It uses the name "free".
  CompileStatus definition(std::string_view source, const CompileOptions &o, Definition &out,
                           std::vector<Diagnostic> &diags) noexcept override {
    std::vector<Signature> all;
    const std::string_view word = source.substr(0, source.find(' '));
    if (auto status = signatures(word, o.fileName, all, diags, {}); status != CompileStatus::Ok)
      return status;
    out.name = word;
    out.bytes = word.size();
    out.names = {{"free", 1, 2}};
    out.returns = {"", "word"};
    return CompileStatus::Ok;
  }

  CompileStatus compile(std::string_view source, const CompileOptions &o, std::string &out,
                        std::vector<Diagnostic> &diags) noexcept override {
    std::vector<Signature> all;
    if (auto status = signatures(source, o.fileName, all, diags, {}); status != CompileStatus::Ok)
      return status;
    if (source == "third" && std::fegetround() != FE_TONEAREST) return CompileStatus::BackendFailure;
    if (source == "slow") {
      if (const char *told = std::getenv("FAKE_COMPILER_BEGINS")) (void)!write(std::atoi(told), "x", 1);
      usleep(100000);
      if (!neededToCompile.isAlive) std::abort();
    }
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
    w.message = o.targets.at(0) + " " + o.numerics + " dims " + std::to_string(o.dims.size()) + " tunables " +
                std::to_string(o.tunables.size());
    for (const auto &[name, text] : o.supplied.types)
      w.message += " " + name + ": " + text;
    for (const auto &[name, text] : o.supplied.constants)
      w.message += " " + name + " = " + text;
    for (const SourcePiece &piece : o.supplied.pieces)
      w.message +=
          " " + std::to_string(piece.line) + " is " + piece.file + ":" + std::to_string(piece.fileLine);
    for (const VariantDecision &d : o.decisions)
      w.message += " " + d.id + "=" + d.variant + " by " + d.by;
    diags.push_back(w);
    std::vector<std::string> kernels = o.kernels;
    if (kernels.empty()) kernels = {"first", "second"};
    Bundle bundle;
    bundle.images.push_back(test::fixtureImage("cpu:x86-64", kernels));
    BundleError error;
    return writeBundle(bundle, out, error) ? CompileStatus::Ok : CompileStatus::BackendFailure;
  }

  CompileStatus emit(std::string_view source, const CompileOptions &o, Emit what, std::string &out,
                     std::vector<Diagnostic> &diags) noexcept override {
    std::string bundle;
    if (auto status = compile(source, o, bundle, diags); status != CompileStatus::Ok) return status;
    out = "level " + std::to_string(int(what)) + " of " + o.kernels.at(0) + " for " + o.targets.at(0);
    return CompileStatus::Ok;
  }
  /// The source "choose" has one product, of unknown dims.
  CompileStatus choices(std::string_view source, const CompileOptions &o, std::vector<VariantChoice> &out,
                        std::vector<Diagnostic> &) noexcept override {
    if (source != "choose") return CompileStatus::Ok;
    VariantChoice c;
    c.target = o.targets.at(0);
    c.id = "first:0";
    c.op = "matmul";
    c.dtype = "f32";
    c.file = o.fileName;
    c.line = 3;
    c.variants = {"tile", "blas"};
    c.refused = {{"spectral", "it is for squares"}};
    c.dims = {{"M", -1}, {"N", 8}};
    out.push_back(c);
    return CompileStatus::Ok;
  }
  std::vector<std::string> targets() noexcept override { return {"cpu"}; }
  std::string explain(std::string_view) noexcept override { return ""; }
  std::string version() noexcept override { return "fake"; }
};

} // namespace

extern "C" __attribute__((visibility("default"))) CompilerService *
tesseraCompilerService(const char *buildId, CodegenPlugins *, ForkMutexes *) {
  static FakeCompiler compiler;
  if (std::getenv("FAKE_COMPILER_REFUSES") || std::strcmp(buildId, TESSERA_BUILD_ID) != 0) return nullptr;
  return &compiler;
}
