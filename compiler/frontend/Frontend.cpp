#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Effects.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/FreeNames.h"
#include "compiler/frontend/sema/Supply.h"
#include "compiler/frontend/syntax/Parser.h"

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
                                      std::vector<Diagnostic> &diags, const Supplied &supplied) {
  auto impl = std::make_unique<Impl>(std::string(source), std::move(fileName));
  ModuleData &m = impl->data;
  DiagnosticSink sink(m.source);
  m.body = frontend::parse(tokenize(m.source, sink, supplied.pieces), sink);
  if (!sink.hasErrors()) supplyTypes(m, supplied, sink); // otherwise functions may be missing
  supplyAttributes(m, supplied, sink);
  resolveModule(m, sink);
  supplyConstants(m, supplied, sink);
  m.valid = !sink.hasErrors();
  sink.flush(diags);
  return std::unique_ptr<Module>(new Module(std::move(impl)));
}

/// Returns the function to compile: the named one, or the only kernel, or, without a kernel, the only graph
/// function.
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

/// Each round may find more dims that must be constants; their number is finite. `run` elaborates with the
/// given dims.
///
/// A function whose types come from a call has a dim for each extent. If its shapes agree for the given dims
/// only, as with slices of a quarter each, it is elaborated for these (docs/decisions/0030).
template <typename Run>
static bool elaborate(const ModuleData &m, const FrontendOptions &options, DiagnosticSink &sink, Run run,
                      bool isOpen = false) {
  std::set<std::string> specialized;
  for (;;) {
    DiagnosticSink round(m.source);
    Elaborator elaborator(m, options, specialized, round);
    bool ok = run(elaborator);
    size_t known = specialized.size();
    specialized.insert(elaborator.wanted().begin(), elaborator.wanted().end());
    if (!ok && isOpen && round.onlyCode(Code::E_SHAPE))
      for (const auto &[dim, value] : options.dims)
        specialized.insert(dim);
    if (specialized.size() != known) continue;
    if (!ok) sink.merge(std::move(round));
    return ok;
  }
}

bool elaborateKernel(const ModuleData &m, const FunctionDecl &f, const FrontendOptions &options, Kernel &out,
                     DiagnosticSink &sink) {
  return elaborate(m, options, sink, [&](Elaborator &e) {
    bool ok = e.run(f);
    if (ok) out = e.takeKernel();
    return ok;
  });
}

CompileStatus Module::instantiate(const FrontendOptions &options, Program &out,
                                  std::vector<Diagnostic> &diags) const {
  if (!valid()) return CompileStatus::BadProgram;
  const ModuleData &m = impl_->data;
  DiagnosticSink sink(m.source);
  const FunctionDecl *f = impl_->choose(options.kernel, sink);
  if (f && f->notBuilt)
    sink.error(Code::E_UNIMPLEMENTED, f->notBuilt->loc,
               "TSR_UNIMPLEMENTED: this decorator is declared, but not built yet");
  if (f && !sink.hasErrors()) {
    if (f->kind == FunctionDecl::Kernel) {
      elaborateKernel(m, *f, options, out.emplace<Kernel>(), sink);
    } else {
      GraphFunction &graph = out.emplace<GraphFunction>();
      const bool isOpen = std::ranges::any_of(options.supplied.types, [&](const auto &type) {
        return type.first.starts_with(f->stmt->text + ".");
      });
      elaborate(m, options, sink, [&](Elaborator &e) { return e.runGraph(*f, graph); }, isOpen);
    }
  }
  if (!sink.hasErrors()) return CompileStatus::Ok;
  bool unimplemented = sink.onlyCode(Code::E_UNIMPLEMENTED);
  sink.flush(diags);
  return unimplemented ? CompileStatus::Unimplemented : CompileStatus::BadProgram;
}

CompileStatus Module::instantiate(const FrontendOptions &options, Kernel &out,
                                  std::vector<Diagnostic> &diags) const {
  Program program;
  CompileStatus status = instantiate(options, program, diags);
  if (status != CompileStatus::Ok) return status;
  if (auto *kernel = std::get_if<Kernel>(&program)) {
    out = std::move(*kernel);
    return status;
  }
  DiagnosticSink sink(impl_->data.source);
  const GraphFunction &f = std::get<GraphFunction>(program);
  sink.error(Code::E_UNKNOWN_KERNEL, f.loc, "'" + f.name + "' is a graph function, not a kernel");
  sink.flush(diags);
  return CompileStatus::BadProgram;
}

static std::string dimText(const Dim &d) { return d.symbol.empty() ? std::to_string(d.constant) : d.symbol; }

static SignatureParam describe(const Param &p, bool reads, bool writes) {
  SignatureParam out;
  out.name = p.name;
  out.isTensor = p.isTensor;
  out.isResult = p.isResult;
  out.dtype = name(p.dtype);
  out.reads = p.isTensor && reads;
  out.writes = p.isTensor && writes;
  for (const Dim &d : p.dims)
    out.dims.push_back(dimText(d));
  for (const Dim &d : p.strides)
    out.strides.push_back(dimText(d));
  out.defaultValue = p.defaultValue;
  return out;
}

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
    if (f.notBuilt) { // its parameters may have no types
      for (const ast::Parameter &p : f.stmt->parameters) {
        SignatureParam sp;
        sp.name = p.name;
        sp.isTensor = sp.reads = true;
        s.params.push_back(std::move(sp));
      }
      out.push_back(std::move(s));
      continue;
    }
    if (s.isGraphFunction) {
      // Its results and effects are those of its body. If the body has errors or needs the value of a dim,
      // the annotation is used; a compilation reports what is wrong.
      DiagnosticSink quiet(m.source);
      Elaborator e(m, options, none, quiet);
      GraphFunction graph;
      if (e.runGraph(f, graph)) {
        for (const Param &p : graph.params)
          s.params.push_back(describe(p, p.reads, p.writes));
        s.dims = graph.dims;
        out.push_back(std::move(s));
        continue;
      }
      if (!f.stmt->returns && !quiet.onlyCode(Code::E_DIM_NOT_STATIC)) {
        sink.merge(std::move(quiet));
        continue;
      }
    }
    Elaborator e(m, options, none, sink);
    if (!e.declare(f)) continue;
    EffectSummary effects = summarizeEffects(m, f);
    for (const Param &p : e.kernel().params) {
      bool reads = s.isGraphFunction || effects.reads.count(p.name);
      s.params.push_back(describe(p, reads, effects.writes.count(p.name)));
    }
    for (size_t i = 0; i < e.results().size(); ++i) {
      if (i < effects.returnedParams.size() && !effects.returnedParams[i].empty()) continue;
      SignatureParam sp;
      sp.name = e.results().size() == 1 ? "result" : "result" + std::to_string(i);
      sp.isTensor = sp.isResult = sp.writes = true;
      sp.dtype = name(e.results()[i].dtype);
      for (const Dim &d : e.results()[i].dims)
        sp.dims.push_back(dimText(d));
      for (const Dim &d : e.results()[i].strides)
        sp.strides.push_back(dimText(d));
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

CompileStatus readDefinition(std::string_view source, const std::string &fileName, Definition &out,
                             std::vector<Diagnostic> &diags) {
  const SourceText text{std::string(source), fileName};
  DiagnosticSink sink(text);
  size_t bytes = 0;
  const std::vector<Token> tokens = tokenizeDefinition(text, sink, bytes);
  ast::Block body = frontend::parse(tokens, sink);
  const bool isFunction = body.size() == 1 && body[0].kind == ast::Stmt::Function;
  if (!isFunction && !sink.hasErrors())
    sink.error(Code::E_SYNTAX, tokens.front().loc, "expected the definition of a function",
               "write def NAME(...): on a line of its own; the compiler reads its text");
  if (sink.hasErrors()) {
    sink.flush(diags);
    return CompileStatus::BadProgram;
  }
  out.name = body[0].text;
  out.bytes = bytes;
  out.names = freeNames(body[0]);
  out.returns = returnedParameters(body[0]);
  return CompileStatus::Ok;
}

CompileStatus compileToProgram(std::string_view source, const FrontendOptions &options, Program &out,
                               std::vector<Diagnostic> &diags) {
  return Module::parse(source, options.fileName, diags, options.supplied)->instantiate(options, out, diags);
}

CompileStatus compileToProgram(std::string_view source, const FrontendOptions &options, Kernel &out,
                               std::vector<Diagnostic> &diags) {
  return Module::parse(source, options.fileName, diags, options.supplied)->instantiate(options, out, diags);
}

CompileStatus signatures(std::string_view source, const std::string &fileName, std::vector<Signature> &out,
                         std::vector<Diagnostic> &diags, const Supplied &supplied) {
  return Module::parse(source, fileName, diags, supplied)->signatures(out, diags);
}

} // namespace tessera::frontend
