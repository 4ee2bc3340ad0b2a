// CompilerService: the implementation of the one C function that libtessera.so calls.
#include "compiler/codegen/PluginBackend.h"
#include "compiler/pipeline/Codes.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/pipeline/OrderOfSums.h"
#include "core/service/BuildId.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

CompileStatus fail(std::vector<Diagnostic> &diags, CompileStatus status, const std::string &file,
                   std::string code, std::string message, std::string hint = {}) {
  Diagnostic d;
  d.code = std::move(code);
  d.message = std::move(message);
  d.hint = std::move(hint);
  d.file = file;
  diags.push_back(std::move(d));
  return status;
}

/// Reports that a tuned configuration does not compile, with the compiler's first error.
void warnOfTuned(const TunedBody &body, const std::string &file, const std::vector<Diagnostic> &found,
                 std::vector<Diagnostic> &diags) {
  Diagnostic d;
  d.severity = Diagnostic::Severity::Warning;
  d.code = "W_TUNED";
  d.file = file;
  d.message = body.kernel + " does not compile with its tuned configuration";
  for (const auto &[name, value] : body.values)
    d.message += " " + name + "=" + std::to_string(value);
  for (const Diagnostic &error : found)
    if (error.severity == Diagnostic::Severity::Error) {
      d.message += ": [" + error.code + "] " + error.message;
      break;
    }
  d.hint = "the default is used; tune the kernel again";
  diags.push_back(std::move(d));
}

/// Returns the tuned configuration that replaces the default of the one kernel and target for all sizes; null
/// if there is none.
const TunedBody *tunedDefault(const CompileOptions &options) {
  if (!options.tunables.empty() || options.kernels.empty()) return nullptr;
  for (const TunedBody &body : options.tuned)
    if (body.when.empty() && body.kernel == options.kernels[0] && body.target == options.targets[0])
      return &body;
  return nullptr;
}

/// Calls `compile` with the options and a list of diagnostics, with the tuned configuration first if one
/// replaces the default. One that no longer compiles, since the kernel was edited, is left out with a
/// warning.
template <class Compile>
CompileStatus withTunedDefault(const CompileOptions &options, std::vector<Diagnostic> &diags,
                               Compile compile) {
  if (const TunedBody *body = tunedDefault(options)) {
    CompileOptions tuned = options;
    tuned.tunables = body->values;
    std::vector<Diagnostic> found;
    const CompileStatus status = compile(std::move(tuned), found);
    if (status == CompileStatus::Ok) {
      std::move(found.begin(), found.end(), std::back_inserter(diags));
      return status;
    }
    warnOfTuned(*body, options.fileName, found, diags);
  }
  return compile(options, diags);
}

/// Compiles one source to one bundle: every requested kernel for every requested target.
class BundleJob {
public:
  BundleJob(std::string_view source, const CompileOptions &options, std::vector<Diagnostic> &diags)
      : source_(source), options_(options), diags_(diags) {}

  CompileStatus run(std::string &bytes) {
    for (const std::string &target : options_.targets) // all are checked before the work for one begins
      if (auto found = codegen::findTarget(target); !found)
        return fail(diags_, CompileStatus::BadProgram, options_.fileName, found.error().code,
                    found.error().message, found.error().hint);
    if (auto status = chooseKernels(); status != CompileStatus::Ok) return status;
    bundle_.producer = TESSERA_BUILD_ID;
    bundle_.sourceName = options_.fileName;
    for (const std::string &target : options_.targets)
      if (auto status = addTarget(target); status != CompileStatus::Ok) return status;
    BundleError error;
    if (writeBundle(bundle_, bytes, error)) return CompileStatus::Ok;
    return fail(diags_, CompileStatus::BackendFailure, options_.fileName, error.code, error.message);
  }

private:
  CompileStatus chooseKernels() {
    kernels_ = options_.kernels;
    if (options_.isIr) kernels_ = {""}; // all that the IR contains
    if (!kernels_.empty()) return CompileStatus::Ok;
    std::vector<Signature> signatures;
    auto status = frontend::signatures(source_, options_.fileName, signatures, diags_, options_.supplied);
    if (status != CompileStatus::Ok) return status;
    for (const Signature &s : signatures)
      kernels_.push_back(s.kernel);
    if (!kernels_.empty()) return CompileStatus::Ok;
    return fail(diags_, CompileStatus::BadProgram, options_.fileName, "E_NO_KERNEL",
                "the source has no kernel and no graph function", "put @ts.kernel in front of a function");
  }

  CompileStatus addTarget(const std::string &target) {
    const bool first = bundle_.images.empty();
    const codegen::Target *resolved = nullptr;
    std::vector<codegen::CodeUnit> units;
    for (const std::string &kernel : kernels_) {
      CompileOptions one = options_;
      one.kernels = {kernel};
      one.targets = {target};
      const std::vector<MetadataVariant> bodies = compileTuned(one, units);
      std::vector<Diagnostic> found;
      units.emplace_back();
      const size_t texts = bundle_.ir.size();
      auto status = withTunedDefault(one, found, [&](CompileOptions options, auto &diags) {
        units.back() = {}; // another configuration may have left a part
        bundle_.ir.resize(texts);
        Compilation c(std::move(options), diags);
        const CompileStatus result = compileOne(c, kernel, first, bodies, units.back());
        if (result == CompileStatus::Ok) resolved = &c.target();
        return result;
      });
      // Every target reports the same warnings.
      for (Diagnostic &d : found)
        if (first || d.severity == Diagnostic::Severity::Error) diags_.push_back(std::move(d));
      if (status != CompileStatus::Ok) return status;
    }
    const bool known =
        std::any_of(bundle_.images.begin(), bundle_.images.end(), [&](const BundleImage &image) {
          return image.target == resolved->imageName(); // "cpu" and this machine's name are one target
        });
    if (known) return CompileStatus::Ok;
    auto images = resolved->makeImages(std::move(units));
    if (!images)
      return fail(diags_, CompileStatus::BackendFailure, options_.fileName, images.error().code,
                  "the image for " + target + " cannot be linked: " + images.error().message);
    std::move(images->begin(), images->end(), std::back_inserter(bundle_.images));
    return CompileStatus::Ok;
  }

  /// Compiles the tuned bodies of a kernel and returns the list among which its launches choose, empty if it
  /// has none. A configuration that no longer compiles, since the kernel was edited, is left out with a
  /// warning.
  std::vector<MetadataVariant> compileTuned(const CompileOptions &options,
                                            std::vector<codegen::CodeUnit> &units) {
    std::vector<MetadataVariant> out;
    std::vector<std::pair<const TunedBody *, std::string>> known; // the entry of each configuration; "": none
    for (const TunedBody &body : options.tuned) {
      if (body.when.empty() || body.kernel != options.kernels[0] || body.target != options.targets[0])
        continue;
      const std::string name = "tuned" + std::to_string(out.size());
      const auto same =
          std::ranges::find_if(known, [&](auto &other) { return other.first->values == body.values; });
      if (same != known.end()) {
        if (!same->second.empty()) out.push_back({.entry = same->second, .when = body.when, .name = name});
        continue;
      }
      CompileOptions one = options;
      one.tuned.clear();
      one.tunables = body.values;
      one.embedIr.clear();
      std::vector<Diagnostic> found;
      Compilation c(std::move(one), found);
      const std::string entry = body.kernel + "." + name;
      c.nameEntry(entry);
      codegen::CodeUnit unit;
      if (compileOne(c, body.kernel, false, {}, unit) != CompileStatus::Ok) {
        warnOfTuned(body, options_.fileName, found, diags_);
        known.emplace_back(&body, "");
        continue;
      }
      units.push_back(std::move(unit));
      out.push_back({.entry = entry, .when = body.when, .name = name});
      known.emplace_back(&body, entry);
    }
    if (!out.empty()) out.push_back({.entry = "", .when = {}, .name = "default"});
    return out;
  }

  CompileStatus compileOne(Compilation &c, const std::string &kernel, bool keepIr,
                           const std::vector<MetadataVariant> &bodies, codegen::CodeUnit &unit) {
    if (auto status = c.begin(source_); status != CompileStatus::Ok) return status;
    for (auto [level, name] : {std::pair{Level::Graph, "graph"}, std::pair{Level::Tile, "tile"}}) {
      const auto &wanted = options_.embedIr;
      if (!keepIr || std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
      if (auto status = c.advance(level); status != CompileStatus::Ok) return status;
      bundle_.ir.push_back({name, kernel, c.text()});
    }
    if (!bodies.empty()) {
      if (auto status = c.advance(Level::Tile); status != CompileStatus::Ok) return status;
      (void)c.addBodies(bodies); // false: the bodies are not used
    }
    if (auto status = c.advance(Level::Target); status != CompileStatus::Ok) return status;
    return c.makeUnit(unit);
  }

  std::string_view source_;
  const CompileOptions &options_;
  std::vector<Diagnostic> &diags_;
  std::vector<std::string> kernels_;
  Bundle bundle_;
};

/// Moves the diagnostics that a call adds to the files that the source's lines come from.
class Placing {
public:
  Placing(const CompileOptions &options, std::vector<Diagnostic> &diags)
      : pieces_(options.supplied.pieces), diags_(diags), first_(diags.size()) {}
  ~Placing() {
    for (size_t i = first_; i < diags_.size(); ++i)
      toFile(pieces_, diags_[i].file, diags_[i].line);
  }
  Placing(const Placing &) = delete;
  Placing &operator=(const Placing &) = delete;

private:
  const std::vector<SourcePiece> &pieces_;
  std::vector<Diagnostic> &diags_;
  const size_t first_;
};

/// Compiles one kernel up to a level and writes its text or bytes.
CompileStatus emitOne(Compilation &c, std::string_view source, Emit what, std::string &out) {
  if (auto status = c.begin(source); status != CompileStatus::Ok) return status;
  Level level = what == Emit::Graph      ? Level::Graph
                : what == Emit::Schedule ? Level::Schedule
                : what == Emit::Tile     ? Level::Tile
                                         : Level::Target;
  if (auto status = c.advance(level); status != CompileStatus::Ok) return status;
  codegen::CodeUnit unit;
  switch (what) {
  case Emit::Graph:
  case Emit::Schedule:
  case Emit::Tile:
  case Emit::Target:
    out = c.text();
    return CompileStatus::Ok;
  case Emit::Metadata:
    if (auto status = c.entries(unit.entries); status != CompileStatus::Ok) return status;
    for (size_t i = 0; i < unit.entries.size(); ++i)
      out += (i ? "---\n" : "") + unit.entries[i].metadata;
    return CompileStatus::Ok;
  case Emit::Assembly:
    return c.emitAssembly(out);
  case Emit::Object:
    return c.emitObject(out);
  case Emit::Bundle:
    break;
  }
  return CompileStatus::BackendFailure;
}

class Service final : public CompilerService {
public:
  CompileStatus signatures(std::string_view source, const std::string &fileName, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags, const Supplied &supplied) noexcept override {
    return frontend::signatures(source, fileName, out, diags, supplied);
  }

  CompileStatus definition(std::string_view source, const CompileOptions &options, Definition &out,
                           std::vector<Diagnostic> &diags) noexcept override {
    const Placing placing(options, diags);
    return frontend::readDefinition(source, options.fileName, out, diags);
  }

  CompileStatus compile(std::string_view source, const CompileOptions &options, std::string &bundle,
                        std::vector<Diagnostic> &diags) noexcept override {
    const Placing placing(options, diags);
    if (options.tuned.empty()) return BundleJob(source, options, diags).run(bundle);
    CompileOptions kept = options;
    dropReorderedBodies(source, kept, diags);
    return BundleJob(source, kept, diags).run(bundle);
  }

  CompileStatus emit(std::string_view source, const CompileOptions &given, Emit what, std::string &out,
                     std::vector<Diagnostic> &diags) noexcept override {
    if (what == Emit::Bundle) return compile(source, given, out, diags);
    const Placing placing(given, diags);
    CompileOptions kept = given;
    dropReorderedBodies(source, kept, diags);
    return withTunedDefault(kept, diags, [&](CompileOptions options, auto &found) {
      Compilation c(std::move(options), found);
      return emitOne(c, source, what, out);
    });
  }

  CompileStatus choices(std::string_view source, const CompileOptions &options,
                        std::vector<VariantChoice> &out, std::vector<Diagnostic> &diags) noexcept override {
    const Placing placing(options, diags);
    std::vector<std::string> kernels = options.kernels;
    if (options.isIr) kernels = {""};
    if (kernels.empty()) {
      std::vector<Signature> signatures;
      if (auto status = frontend::signatures(source, options.fileName, signatures, diags, options.supplied);
          status != CompileStatus::Ok)
        return status;
      for (const Signature &s : signatures)
        if (s.isGraphFunction) kernels.push_back(s.kernel);
    }
    for (const std::string &target : options.targets)
      for (const std::string &kernel : kernels) {
        CompileOptions one = options;
        one.kernels = {kernel};
        one.targets = {target};
        one.printIrAfterAll.clear();
        // The compilation proper reports errors and warnings.
        std::vector<Diagnostic> unsaid;
        Compilation c(std::move(one), unsaid);
        if (c.begin(source) != CompileStatus::Ok) continue;
        c.prepareChoices();
        if (c.advance(Level::Schedule) == CompileStatus::Ok) c.listChoices(out);
      }
    return CompileStatus::Ok;
  }

  std::vector<std::string> targets() noexcept override {
    std::vector<std::string> names;
    for (const codegen::TargetBackend *backend : codegen::targetBackends())
      for (std::string &name : backend->targetNames())
        names.push_back(std::move(name));
    return names;
  }

  std::string explain(std::string_view code) noexcept override {
    const frontend::DiagnosticInfo *info = frontend::findDiagnostic(code);
    if (!info) info = findPipelineCode(code);
    return info ? std::string(info->title) + "\n\n" + info->explanation : std::string();
  }

  std::string version() noexcept override { return TESSERA_BUILD_ID; }
};

} // namespace

extern "C" CompilerService *tesseraCompilerService(const char *buildId, CodegenPlugins *plugins,
                                                   ForkMutexes *mutexes) {
  static Service service; // stateless
  if (!buildId || std::strcmp(buildId, TESSERA_BUILD_ID) != 0) return nullptr;
  if (plugins) codegen::setCodegenPlugins(*plugins);
  if (mutexes) joinForkMutexes(*mutexes);
  return &service;
}

} // namespace tessera
