// CompilerService: what libtessera.so calls through the one exported C function.
#include "compiler/pipeline/Codes.h"
#include "compiler/pipeline/Compilation.h"
#include "core/BuildId.h"
#include <cstring>

namespace tessera {
namespace {

class Service final : public CompilerService {
public:
  CompileStatus signatures(std::string_view source, const std::string &fileName, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags) noexcept override {
    return frontend::signatures(source, fileName, out, diags);
  }

  CompileStatus compile(std::string_view source, const CompileOptions &options, CompiledKernel &out,
                        std::vector<Diagnostic> &diags) noexcept override {
    Compilation c(options, diags);
    if (auto status = c.begin(source); status != CompileStatus::Ok) return status;
    if (!c.target().isHost)
      return c.fail(CompileStatus::BadProgram, "E_TARGET_UNKNOWN",
                    "target '" + options.target + "' cannot run in this process", "use target cpu to run");
    if (auto status = c.advance(Level::Target); status != CompileStatus::Ok) return status;
    if (auto status = c.metadata(out.metadata, out.fallbacks); status != CompileStatus::Ok) return status;
    std::string why;
    void *entry = nullptr;
    if (!cpu::jit(*c.image(), c.target(), c.kernel().name, out.code, entry, why))
      return c.fail(CompileStatus::BackendFailure, "E_BACKEND", "LLVM could not compile the kernel: " + why);
    out.entry = reinterpret_cast<CpuKernelFn>(entry);
    return CompileStatus::Ok;
  }

  CompileStatus emit(std::string_view source, const CompileOptions &options, Emit what, std::string &out,
                     std::vector<Diagnostic> &diags) noexcept override {
    Compilation c(options, diags);
    if (auto status = c.begin(source); status != CompileStatus::Ok) return status;
    Level level = what == Emit::Graph      ? Level::Graph
                  : what == Emit::Schedule ? Level::Schedule
                  : what == Emit::Tile     ? Level::Tile
                                           : Level::Target;
    if (auto status = c.advance(level); status != CompileStatus::Ok) return status;
    std::string why;
    std::vector<std::string> fallbacks;
    switch (what) {
    case Emit::Graph:
    case Emit::Schedule:
    case Emit::Tile:
    case Emit::Target:
      out = c.text();
      return CompileStatus::Ok;
    case Emit::Metadata:
      return c.metadata(out, fallbacks);
    case Emit::Assembly:
      if (cpu::emitAssembly(*c.image(), c.target(), out, why)) return CompileStatus::Ok;
      break;
    case Emit::Object:
      if (cpu::emitObject(*c.image(), c.target(), out, why)) return CompileStatus::Ok;
      break;
    }
    return c.fail(CompileStatus::BackendFailure, "E_BACKEND", "LLVM could not compile the kernel: " + why);
  }

  std::string explain(std::string_view code) noexcept override {
    const frontend::DiagnosticInfo *info = frontend::findDiagnostic(code);
    if (!info) info = findPipelineCode(code);
    return info ? std::string(info->title) + "\n\n" + info->explanation : std::string();
  }

  std::string version() noexcept override { return TESSERA_BUILD_ID; }
};

} // namespace

extern "C" CompilerService *tesseraCompilerService(const char *buildId) {
  static Service service; // stateless
  return buildId && !std::strcmp(buildId, TESSERA_BUILD_ID) ? &service : nullptr;
}

} // namespace tessera
