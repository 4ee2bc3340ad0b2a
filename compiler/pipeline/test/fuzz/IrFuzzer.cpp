// IR text, as `tsr compile FILE.mlir` takes it: is compiled or refused with a reason and a line, never
// crashes the compiler and never reaches what is called an internal error. Ends at Target IR and metadata:
// behind it is LLVM's code generator, which is not ours and takes what was verified.
#include "compiler/pipeline/test/fuzz/IrMutator.h"
#include "core/service/BuildId.h"
#include "core/service/CompilerService.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tessera;

// The headers of LLVM's allocators mark memory for the sanitizer, its libraries do not.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

namespace {

CompilerService &service() { return *tesseraCompilerService(TESSERA_BUILD_ID); }

std::vector<std::string> makeSeeds() {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const auto &entry : fs::recursive_directory_iterator(TESSERA_SAMPLES_DIR)) {
    if (entry.path().extension() != ".py" || entry.path().filename() == "check.py") continue;
    std::ifstream file(entry.path());
    const std::string source(std::istreambuf_iterator<char>(file), {});
    std::vector<Signature> signatures;
    std::vector<Diagnostic> diags;
    (void)service().signatures(source, "sample", signatures, diags);
    for (const Signature &s : signatures)
      for (Emit level : {Emit::Graph, Emit::Schedule, Emit::Tile}) {
        CompileOptions options;
        options.kernels = {s.kernel};
        options.targets = {"cpu:x86-64-v3"};
        std::string text;
        if (service().emit(source, options, level, text, diags) == CompileStatus::Ok) out.push_back(text);
      }
  }
  if (out.empty()) abort();
  return out;
}

void check(const std::string &source, const char *target) {
  CompileOptions options;
  options.fileName = "fuzz.mlir";
  options.isIr = true;
  options.targets = {target};
  std::string out;
  std::vector<Diagnostic> diags;
  const CompileStatus status = service().emit(source, options, Emit::Metadata, out, diags);
  if (status == CompileStatus::Ok) return;
  const auto error = std::find_if(diags.begin(), diags.end(),
                                  [](auto &d) { return d.severity == Diagnostic::Severity::Error; });
  const bool isAnswer = error != diags.end() && error->code != "E_INTERNAL" && error->line > 0 &&
                        status != CompileStatus::BackendFailure;
  if (isAnswer) return;
  std::fprintf(stderr, "for %s, status %d:\n", target, int(status));
  for (const Diagnostic &d : diags)
    std::fprintf(stderr, "%s", render(d, false).c_str());
  abort();
}

} // namespace

const std::vector<std::string> &tessera::fuzz::seeds() {
  static const std::vector<std::string> all = makeSeeds();
  return all;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string source(reinterpret_cast<const char *>(data), size);
  const bool isGpu = std::count(source.begin(), source.end(), ' ') % 4 == 0; // any fixed choice
  check(source, isGpu ? "ptx:sm_90" : "cpu:x86-64-v3");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
  const auto &seeds = fuzz::seeds();
  std::string text(reinterpret_cast<const char *>(data), size);
  if (size < 8) text = seeds[seed % seeds.size()]; // libFuzzer begins with nothing
  std::string out = fuzz::mutateIr(text, seeds[seed / 7 % seeds.size()], seed);
  out.resize(std::min(out.size(), limit));
  std::memcpy(data, out.data(), out.size());
  return out.size();
}
