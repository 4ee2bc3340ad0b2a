// Two keys lead to a bundle. The first is made of the source's bytes, so a hit does not load the compiler.
// The second is made of the Graph IR, which does not depend on comments and layout. Both also include
// everything else the code depends on: options, the compiler's files, this processor.
//
// The list of the compiler's files is known once the compiler is loaded. The list is stored as well, so that
// the next process only checks whether these files are unchanged.
#include "core/cache/CachedCompiler.h"
#include "core/cache/Signatures.h"
#include "core/cache/Store.h"
#include "core/service/BuildId.h"
#include "core/service/CodegenPlugins.h"
#include "core/service/CompilerGate.h"
#include "core/service/CompilerLoader.h"
#include "core/service/CompilerObjects.h"
#include "core/support/HostCpu.h"
#include "core/tuning/TunedBodies.h"
#include <atomic>
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera {
namespace {

using cache::Store;

/// Builds the text that is hashed to a key. Every field is preceded by its length, so different field
/// sequences give different texts.
class KeyText {
public:
  KeyText &add(std::string_view text) {
    add(static_cast<int64_t>(text.size()));
    text_ += text;
    return *this;
  }
  KeyText &add(int64_t v) {
    char bytes[sizeof v];
    std::memcpy(bytes, &v, sizeof v);
    text_.append(bytes, sizeof bytes);
    return *this;
  }
  KeyText &add(const std::vector<std::string> &list) {
    add(static_cast<int64_t>(list.size()));
    for (const std::string &text : list)
      add(text);
    return *this;
  }
  KeyText &add(const std::vector<std::pair<std::string, std::string>> &list) {
    add(static_cast<int64_t>(list.size()));
    for (auto &[name, text] : list)
      add(name).add(text);
    return *this;
  }
  KeyText &add(const std::vector<SourcePiece> &list) {
    add(static_cast<int64_t>(list.size()));
    for (const SourcePiece &piece : list)
      add(piece.file).add(int64_t(piece.line)).add(int64_t(piece.fileLine));
    return *this;
  }
  KeyText &add(const std::vector<std::pair<std::string, int64_t>> &list) {
    add(static_cast<int64_t>(list.size()));
    for (const auto &[name, value] : list)
      add(name).add(value);
    return *this;
  }
  Hash128 hash() const { return hash128(text_); }

private:
  std::string text_;
};

/// Returns the key under which the list of the compiler's files is stored: one per location of the compiler
/// and LD_LIBRARY_PATH.
Hash128 listKey() {
  const char *path = std::getenv("LD_LIBRARY_PATH");
  return KeyText().add("files").add(TESSERA_BUILD_ID).add(compilerFile()).add(path ? path : "").hash();
}

/// Returns the compiler's identity without loading it; "" if it is not known.
std::string knownCompiler(const Store &store) {
  if (std::string own = loadedCompiler().identity; !own.empty()) return own;
  std::vector<std::string> files;
  if (auto list = store.get(listKey(), cache::Kind::Files))
    for (size_t at = 0, end; (end = list->find('\0', at)) != std::string::npos; at = end + 1)
      files.push_back(list->substr(at, end - at));
  return identityOf(files);
}

/// Returns the identity of the loaded compiler, and stores its list of files for the next process.
std::string usedCompiler(const Store &store) {
  const LoadedCompiler loaded = loadedCompiler();
  std::string list;
  for (const std::string &file : loaded.files)
    (list += file) += '\0';
  if (!loaded.identity.empty() && store.get(listKey(), cache::Kind::Files) != list)
    (void)store.put(listKey(), cache::Kind::Files, list); // compile() reports failures to store
  return loaded.identity;
}

/// Adds the processor, which is what target `cpu` compiles for, and whether the system lets this process use
/// its tile registers. EBX of leaf 1 is skipped, since it depends on the core that runs this.
void addProcessor(KeyText &key) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  for (auto [leaf, sub] : {std::pair(1u, 0u), {7u, 0u}, {7u, 1u}, {0x80000001u, 0u}}) {
    if (!__get_cpuid_count(leaf, sub, &a, &b, &c, &d)) continue;
    key.add(int64_t(a)).add(leaf == 1 ? int64_t(0) : int64_t(b)).add(int64_t(c)).add(int64_t(d));
  }
  key.add(firstMissing({"amx-tile"}));
#endif
}

/// Adds the decisions. They affect the code and, with the mapper that made them, the metadata.
void addDecisions(KeyText &key, const std::vector<VariantDecision> &decisions) {
  key.add(static_cast<int64_t>(decisions.size()));
  for (const VariantDecision &d : decisions) {
    int64_t predicted;
    static_assert(sizeof predicted == sizeof d.predictedNs);
    std::memcpy(&predicted, &d.predictedNs, sizeof predicted);
    key.add(d.target).add(d.id).add(d.variant).add(d.legal).add(d.by).add(predicted);
  }
}

void addTuned(KeyText &key, const std::vector<TunedBody> &tuned) {
  key.add(static_cast<int64_t>(tuned.size()));
  for (const TunedBody &body : tuned)
    key.add(body.target).add(body.kernel).add(body.when).add(body.values);
}

/// Returns the profile's permissions. They are part of the key because a plugin may redefine a profile of the
/// same name.
std::vector<std::string> permitsOf(const CompileOptions &o) {
  const NumericsPermissions *builtin = builtinProfile(o.numerics);
  return permissionNames(o.permits ? *o.permits : builtin ? *builtin : NumericsPermissions());
}

/// Returns the identities of the plugins that generate the code; nullopt if the code of one of them must not
/// be cached.
std::optional<std::vector<std::string>> codegensOf(const CompileOptions &o) {
  std::vector<std::string> out;
  for (const std::string &target : o.targets) {
    std::optional<std::string> identity = codegenPlugins().identity(target);
    if (!identity) return std::nullopt;
    out.push_back(std::move(*identity));
  }
  return out;
}

/// Returns the key of everything that the code for `program` depends on.
Hash128 keyOf(std::string_view index, const std::string &compiler, const CompileOptions &o,
              std::string_view program) {
  KeyText key;
  key.add(index).add(TESSERA_BUILD_ID).add(compiler);
  key.add(o.fileName)
      .add(o.kernels)
      .add(o.targets)
      .add(o.numerics)
      .add(permitsOf(o))
      .add(o.dims)
      .add(o.tunables)
      .add(o.supplied.types)
      .add(o.supplied.constants)
      .add(o.supplied.pieces);
  key.add(o.embedIr).add(int64_t(o.isIr)).add(int64_t(o.fuse)).add(int64_t(o.exactDims));
  key.add(codegensOf(o).value_or(std::vector<std::string>()));
  addDecisions(key, o.decisions);
  addTuned(key, o.tuned);
  addProcessor(key);
  return key.add(program).hash();
}

std::string bytesOf(Hash128 h) { return std::string(reinterpret_cast<const char *>(&h), sizeof h); }

class CachedCompiler final : public CompilerService {
public:
  CompileStatus signatures(std::string_view source, const std::string &fileName, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags, const Supplied &supplied) noexcept override {
    const Store store = Store::ofEnvironment();
    auto keyFor = [&](const std::string &compiler) {
      KeyText key;
      key.add("signatures").add(TESSERA_BUILD_ID).add(compiler).add(fileName);
      return key.add(supplied.types).add(supplied.constants).add(source).hash();
    };
    if (const std::string known = store ? knownCompiler(store) : ""; !known.empty())
      if (auto hit = store.get(keyFor(known), cache::Kind::Signatures);
          hit && cache::readSignatures(*hit, out))
        return CompileStatus::Ok;
    out.clear();
    CompilerService *compiler = need(fileName, diags);
    if (!compiler) return CompileStatus::BackendFailure;
    const CompileStatus status = compiler->signatures(source, fileName, out, diags, supplied);
    const std::string used = store ? usedCompiler(store) : "";
    if (!used.empty() && status == CompileStatus::Ok && diags.empty())
      // compile() reports failures to store
      (void)store.put(keyFor(used), cache::Kind::Signatures, cache::writeSignatures(out));
    return status;
  }

  CompileStatus definition(std::string_view source, const CompileOptions &options, Definition &out,
                           std::vector<Diagnostic> &diags) noexcept override {
    const Store store = Store::ofEnvironment();
    auto keyFor = [&](const std::string &compiler) {
      return KeyText().add("definition").add(TESSERA_BUILD_ID).add(compiler).add(source).hash();
    };
    if (const std::string known = store ? knownCompiler(store) : ""; !known.empty())
      if (auto hit = store.get(keyFor(known), cache::Kind::Definition);
          hit && cache::readDefinition(*hit, out))
        return CompileStatus::Ok;
    CompilerService *compiler = need(options.fileName, diags);
    if (!compiler) return CompileStatus::BackendFailure;
    const CompileStatus status = compiler->definition(source, options, out, diags);
    const std::string used = store ? usedCompiler(store) : "";
    if (!used.empty() && status == CompileStatus::Ok) // compile() reports failures to store
      (void)store.put(keyFor(used), cache::Kind::Definition, cache::writeDefinition(out));
    return status;
  }

  CompileStatus compile(std::string_view source, const CompileOptions &given, std::string &bundle,
                        std::vector<Diagnostic> &diags) noexcept override {
    std::optional<CompileOptions> own;
    CompileOptions options = withDebug(given, own);
    findTuned(*this, source, options, diags);
    const size_t said = diags.size();
    const Store store = Store::ofEnvironment();
    // A caller that requests IR snapshots needs the passes to run.
    const bool isKept = store && options.printIrAfterAll.empty() && codegensOf(options);
    if (const std::string known = isKept ? knownCompiler(store) : ""; !known.empty())
      if (find(store, keyOf("source", known, options, source), bundle)) return CompileStatus::Ok;

    CompilerService *compiler = need(options.fileName, diags);
    if (!compiler) return CompileStatus::BackendFailure;
    // The identity is read again: the files may have been replaced since knownCompiler(), or were not listed.
    const std::string used = isKept ? usedCompiler(store) : "";
    if (used.empty()) return compiler->compile(source, options, bundle, diags);
    const Hash128 first = keyOf("source", used, options, source);
    const Hash128 second = canonical(*compiler, used, source, options, first);
    if (auto hit = store.get(second, cache::Kind::Bundle)) {
      bundle = std::move(*hit);
      keep(store, first, cache::Kind::Alias, bytesOf(second), diags);
      return CompileStatus::Ok;
    }
    const CompileStatus status = compiler->compile(source, options, bundle, diags);
    // Code with warnings is not cached, so that every compilation reports them.
    if (status != CompileStatus::Ok || diags.size() != said) return status;
    if (keep(store, second, cache::Kind::Bundle, bundle, diags))
      keep(store, first, cache::Kind::Alias, bytesOf(second), diags);
    return status;
  }

  CompileStatus emit(std::string_view source, const CompileOptions &given, Emit what, std::string &out,
                     std::vector<Diagnostic> &diags) noexcept override {
    CompileOptions options = given;
    findTuned(*this, source, options, diags);
    CompilerService *compiler = need(options.fileName, diags);
    return compiler ? compiler->emit(source, options, what, out, diags) : CompileStatus::BackendFailure;
  }
  CompileStatus choices(std::string_view source, const CompileOptions &options,
                        std::vector<VariantChoice> &out, std::vector<Diagnostic> &diags) noexcept override {
    CompilerService *compiler = need(options.fileName, diags);
    return compiler ? compiler->choices(source, options, out, diags) : CompileStatus::BackendFailure;
  }
  std::vector<std::string> targets() noexcept override {
    auto compiler = loadCompiler();
    return compiler ? (*compiler)->targets() : std::vector<std::string>();
  }
  std::string explain(std::string_view code) noexcept override {
    auto compiler = loadCompiler();
    return compiler ? (*compiler)->explain(code) : "";
  }
  std::string version() noexcept override { return TESSERA_BUILD_ID; }

private:
  static CompilerService *need(const std::string &fileName, std::vector<Diagnostic> &diags) {
    auto compiler = loadCompiler();
    if (compiler) return *compiler;
    Diagnostic d;
    d.code = compiler.error().code;
    d.message = compiler.error().message;
    d.hint = compiler.error().hint;
    d.file = fileName;
    diags.push_back(std::move(d));
    return nullptr;
  }

  /// Returns a bundle that `key` refers to through an alias.
  static bool find(const Store &store, Hash128 key, std::string &bundle) {
    Hash128 target;
    auto alias = store.get(key, cache::Kind::Alias);
    if (!alias || alias->size() != sizeof target) return false;
    std::memcpy(&target, alias->data(), sizeof target);
    auto hit = store.get(target, cache::Kind::Bundle);
    if (hit) bundle = std::move(*hit);
    return hit.has_value();
  }

  /// Returns the key of the program as Graph IR. Returns a key derived from `first` if the Graph IR does not
  /// cover everything that is compiled, or if the bundle contains IR, whose locations refer to the source.
  static Hash128 canonical(CompilerService &compiler, const std::string &used, std::string_view source,
                           const CompileOptions &options, Hash128 first) {
    std::string graph;
    std::vector<Diagnostic> ignored; // compile() reports these
    CompileOptions one = options;
    one.targets.resize(1);
    const bool isWhole = options.embedIr.empty() && !options.isIr && options.kernels.size() == 1;
    if (isWhole && compiler.emit(source, one, Emit::Graph, graph, ignored) == CompileStatus::Ok &&
        ignored.empty())
      return keyOf("graph", used, options, graph);
    return KeyText().add("bundle").add(bytesOf(first)).hash();
  }

  /// Stores an entry. Adds a warning for the first failure of the process.
  static bool keep(const Store &store, Hash128 key, cache::Kind kind, std::string_view bytes,
                   std::vector<Diagnostic> &diags) {
    auto error = store.put(key, kind, bytes);
    if (!error) return true;
    static std::atomic_flag isReported = ATOMIC_FLAG_INIT;
    if (isReported.test_and_set()) return false;
    Diagnostic d;
    d.severity = Diagnostic::Severity::Warning;
    d.code = "W_CACHE";
    d.message = "the compiled code is not kept in the cache: " + error->message;
    d.hint = "TESSERA_CACHE_DIR names another directory, or is off";
    diags.push_back(std::move(d));
    return false;
  }
};

CachedCompiler &cached = *new CachedCompiler; // never destroyed: calls may outlive static destructors

} // namespace

CompilerService *cachedCompiler() { return &cached; }

} // namespace tessera
