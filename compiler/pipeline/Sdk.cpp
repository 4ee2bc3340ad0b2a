// Implements <tessera/compiler.hpp> with Compilation.
#include "compiler/pipeline/Compilation.h"
#include <map>
#include <tessera/compiler.hpp>

namespace tessera {

struct ModuleIR::Impl {
  explicit Impl(CompileOptions options) : compilation(std::move(options), diags) {}
  std::vector<Diagnostic> diags;
  Compilation compilation;
  std::vector<CompileMessage> messages;
  std::map<Level, std::string> texts; // of the levels reached so far
  bool usable = false;

  void collect() {
    for (const Diagnostic &d : diags)
      messages.push_back({d.code, render(d, false), d.line, d.col});
    diags.clear();
  }
};

ModuleIR::ModuleIR() = default;
ModuleIR::ModuleIR(ModuleIR &&) noexcept = default;
ModuleIR &ModuleIR::operator=(ModuleIR &&) noexcept = default;
ModuleIR::~ModuleIR() = default;

ModuleIR::operator bool() const { return impl_ && impl_->usable; }

const std::vector<CompileMessage> &ModuleIR::messages() const {
  static const std::vector<CompileMessage> none;
  return impl_ ? impl_->messages : none;
}

std::string ModuleIR::inspect_ir(std::string_view name) {
  if (!*this) return {};
  static constexpr std::pair<std::string_view, Level> levels[] = {{"graph", Level::Graph},
                                                                  {"schedule", Level::Schedule},
                                                                  {"tile", Level::Tile},
                                                                  {"target", Level::Target}};
  for (auto [known, level] : levels) {
    if (name != known) continue;
    if (auto seen = impl_->texts.find(level); seen != impl_->texts.end()) return seen->second;
    // Keeps the text of every level on the way, so that it can be returned later.
    for (auto [ignored, next] : levels) {
      if (next > level) break;
      if (impl_->texts.count(next)) continue;
      if (impl_->compilation.advance(next) != CompileStatus::Ok) {
        impl_->collect();
        impl_->usable = false;
        return {};
      }
      impl_->texts[next] = impl_->compilation.text();
    }
    return impl_->texts[level];
  }
  impl_->messages.push_back({"E_LEVEL_UNKNOWN",
                             "error: [E_LEVEL_UNKNOWN] unknown IR level '" + std::string(name) +
                                 "': the levels are graph, schedule, tile and target\n",
                             0, 0});
  return {};
}

ModuleIR tessera_frontend_compile(std::string_view source, const FrontendCompileOptions &o) {
  CompileOptions options;
  options.fileName = o.fileName;
  if (!o.kernel.empty()) options.kernels = {o.kernel};
  options.targets = {o.target};
  options.numerics = o.numerics;
  if (o.profile) {
    options.numerics = o.profile->name();
    options.permits = {o.profile->contraction(),      o.profile->reassociation(),
                       o.profile->approximate(),      o.profile->reducedMultiply(),
                       o.profile->unorderedAtomics(), o.profile->fixedReductions(),
                       o.profile->frozenTunables()};
  }
  options.dims = o.dims;
  options.exactDims = true;
  options.tunables = o.tunables;
  ModuleIR ir;
  ir.impl_ = std::make_unique<ModuleIR::Impl>(std::move(options));
  ir.impl_->usable = ir.impl_->compilation.begin(source) == CompileStatus::Ok;
  ir.impl_->collect();
  return ir;
}

Report tessera_validate_shapes(const ModuleIR &ir, std::string_view policy) {
  Report report;
  if (!ir) {
    report.error = "the module did not compile";
    return report;
  }
  frontend::ShapePolicy parsed;
  if (!frontend::parseShapePolicy(policy, parsed, report.error)) return report;
  for (const frontend::ShapeFinding &f :
       frontend::validateShapes(ir.impl()->compilation.kernel(), parsed).findings)
    report.findings.push_back({f.subject, f.message});
  return report;
}

} // namespace tessera
