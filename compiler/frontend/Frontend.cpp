#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/Effects.h"
#include "compiler/frontend/Elaborator.h"
#include "compiler/frontend/Parser.h"
#include "compiler/frontend/Suggest.h"

namespace tessera::frontend {

struct Module::Impl {
  explicit Impl(std::string text, std::string fileName) : data(std::move(text), std::move(fileName)) {}
  ModuleData data;

  const FunctionDecl *choose(const std::string &name, DiagnosticSink &sink) const;
};

Module::Module(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Module::~Module() = default;
bool Module::valid() const { return impl_->data.valid; }

std::unique_ptr<Module> Module::parse(std::string_view source, std::string fileName,
                                      std::vector<Diagnostic> &diags) {
  auto impl = std::make_unique<Impl>(std::string(source), std::move(fileName));
  ModuleData &m = impl->data;
  DiagnosticSink sink(m.source);
  m.body = frontend::parse(tokenize(m.source, sink), sink);
  resolveModule(m, sink);
  m.valid = !sink.hasErrors();
  sink.flush(diags);
  return std::unique_ptr<Module>(new Module(std::move(impl)));
}

/// The function to compile: the named one, or the only kernel (else the only graph function) there is.
const FunctionDecl *Module::Impl::choose(const std::string &name, DiagnosticSink &sink) const {
  std::vector<const FunctionDecl *> kernels, graphs;
  std::vector<std::string> names;
  for (const FunctionDecl &f : data.functions) {
    if (f.kind == FunctionDecl::Helper) continue;
    (f.kind == FunctionDecl::Kernel ? kernels : graphs).push_back(&f);
    names.push_back(f.stmt->text);
    if (f.stmt->text == name) return &f;
  }
  if (!name.empty()) {
    sink.error(Code::E_UNKNOWN_KERNEL, {}, "there is no kernel '" + name + "' in this source",
               didYouMean(name, names));
    return nullptr;
  }
  if (names.empty()) {
    sink.error(Code::E_NO_KERNEL, {}, "this source has no kernel", "put @ts.kernel in front of a function");
    return nullptr;
  }
  if (names.size() > 1) {
    std::string list;
    for (const std::string &n : names)
      list += (list.empty() ? "" : ", ") + n;
    sink.error(Code::E_AMBIGUOUS_KERNEL, {}, "this source has several kernels: " + list,
               "name one with --kernel");
    return nullptr;
  }
  return kernels.empty() ? graphs[0] : kernels[0];
}

CompileStatus Module::instantiate(const FrontendOptions &options, Kernel &out,
                                  std::vector<Diagnostic> &diags) const {
  if (!valid()) return CompileStatus::BadProgram;
  const ModuleData &m = impl_->data;
  DiagnosticSink sink(m.source);
  const FunctionDecl *f = impl_->choose(options.kernel, sink);
  if (f && f->notBuilt)
    sink.error(Code::E_UNIMPLEMENTED, f->notBuilt->loc,
               "TSR_UNIMPLEMENTED: this decorator is declared, but not built yet");
  if (f && f->kind == FunctionDecl::Graph)
    sink.error(Code::E_UNIMPLEMENTED, f->stmt->nameLoc,
               "TSR_UNIMPLEMENTED: bodies of @ts.jit graph functions are not built yet ('" + f->stmt->text +
                   "')");
  if (!f || sink.hasErrors()) {
    bool unimplemented = sink.has(Code::E_UNIMPLEMENTED);
    sink.flush(diags);
    return unimplemented ? CompileStatus::Unimplemented : CompileStatus::BadProgram;
  }

  // Each round may find further dims that have to be constants; there are finitely many.
  std::set<std::string> specialized;
  for (;;) {
    DiagnosticSink round(m.source);
    Elaborator elaborator(m, options, specialized, round);
    bool ok = elaborator.run(*f);
    size_t known = specialized.size();
    specialized.insert(elaborator.wanted().begin(), elaborator.wanted().end());
    if (specialized.size() != known) continue;
    if (ok) {
      out = elaborator.takeKernel();
      return CompileStatus::Ok;
    }
    bool unimplemented = round.onlyCode(Code::E_UNIMPLEMENTED);
    round.flush(diags);
    return unimplemented ? CompileStatus::Unimplemented : CompileStatus::BadProgram;
  }
}

static std::string dimText(const Dim &d) { return d.symbol.empty() ? std::to_string(d.constant) : d.symbol; }

CompileStatus Module::signatures(std::vector<Signature> &out, std::vector<Diagnostic> &diags) const {
  if (!valid()) return CompileStatus::BadProgram;
  const ModuleData &m = impl_->data;
  DiagnosticSink sink(m.source);
  FrontendOptions options;
  std::set<std::string> none;
  for (const FunctionDecl &f : m.functions) {
    if (f.kind == FunctionDecl::Helper) continue;
    Signature s;
    s.kernel = f.stmt->text;
    s.isGraphFunction = f.kind == FunctionDecl::Graph;
    if (s.isGraphFunction) { // may leave its parameters without types
      for (const ast::Parameter &p : f.stmt->parameters) {
        SignatureParam sp;
        sp.name = p.name;
        sp.isTensor = sp.reads = true;
        s.params.push_back(std::move(sp));
      }
      out.push_back(std::move(s));
      continue;
    }
    Elaborator e(m, options, none, sink);
    if (!e.declare(f)) continue;
    EffectSummary effects = summarizeEffects(m, f);
    for (const Param &p : e.kernel().params) {
      SignatureParam sp;
      sp.name = p.name;
      sp.isTensor = p.isTensor;
      sp.dtype = name(p.dtype);
      sp.reads = p.isTensor && effects.reads.count(p.name);
      sp.writes = p.isTensor && effects.writes.count(p.name);
      for (const Dim &d : p.dims)
        sp.dims.push_back(dimText(d));
      sp.hasDefault = p.defaultValue.has_value();
      sp.defaultValue = p.defaultValue.value_or(0);
      s.params.push_back(std::move(sp));
    }
    for (size_t i = 0; i < e.results().size(); ++i) {
      if (i < effects.returnedParams.size() && !effects.returnedParams[i].empty()) continue;
      SignatureParam sp;
      sp.name = e.results().size() == 1 ? "result" : "result" + std::to_string(i);
      sp.isTensor = sp.isResult = sp.writes = true;
      sp.dtype = name(e.results()[i].dtype);
      for (const Dim &d : e.results()[i].dims)
        sp.dims.push_back(dimText(d));
      s.params.push_back(std::move(sp));
    }
    s.dims = e.kernel().dims;
    for (const Elaborator::Tunable &t : e.tunables())
      s.tunables.emplace_back(t.name, t.space);
    out.push_back(std::move(s));
  }
  bool ok = !sink.hasErrors();
  bool unimplemented = sink.onlyCode(Code::E_UNIMPLEMENTED);
  sink.flush(diags);
  return ok ? CompileStatus::Ok : unimplemented ? CompileStatus::Unimplemented : CompileStatus::BadProgram;
}

CompileStatus compileToProgram(std::string_view source, const FrontendOptions &options, Kernel &out,
                               std::vector<Diagnostic> &diags) {
  return Module::parse(source, options.fileName, diags)->instantiate(options, out, diags);
}

CompileStatus signatures(std::string_view source, const std::string &fileName, std::vector<Signature> &out,
                         std::vector<Diagnostic> &diags) {
  return Module::parse(source, fileName, diags)->signatures(out, diags);
}

} // namespace tessera::frontend
