// The compiler behind the cache: which requests share an entry, which must not, and what invalidates an
// entry. This program replaces the loader with a compiler that counts its calls and whose files belong to the
// test.
#include "core/cache/CachedCompiler.h"
#include "core/service/CodegenPlugins.h"
#include "core/service/CompilerLoader.h"
#include "core/service/CompilerObjects.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

std::string describe(const CompileOptions &o) {
  std::string out = o.fileName + "|" + o.numerics + "|" + (o.isIr ? "ir" : "") +
                    (o.permits ? "|permits" : "") + (o.fuse ? "|fuse" : "|whole");
  for (const auto *list : {&o.kernels, &o.targets, &o.embedIr}) {
    out += "|";
    for (const std::string &s : *list)
      out += s + ",";
  }
  for (const auto *list : {&o.dims, &o.tunables}) {
    out += "|";
    for (const auto &[name, value] : *list)
      out += name + "=" + std::to_string(value) + ",";
  }
  for (const auto *list : {&o.supplied.types, &o.supplied.constants}) {
    out += "|";
    for (const auto &[name, text] : *list)
      out += name + "=" + text + ",";
  }
  for (const VariantDecision &d : o.decisions) {
    out += "|" + d.target + "," + d.id + "," + d.variant + "," + d.by + "," + std::to_string(d.predictedNs);
    for (const std::string &s : d.legal)
      out += "," + s;
  }
  return out;
}

/// Its Graph IR is the source without comments. Its bundle is that text and the options.
class Counting final : public CompilerService {
public:
  std::atomic<int> compiled{0}, signed_{0}, read{0};
  std::atomic<int> release{1};

  CompileStatus signatures(std::string_view source, const std::string &file, std::vector<Signature> &out,
                           std::vector<Diagnostic> &diags, const Supplied &supplied) noexcept override {
    ++signed_;
    if (source.find("bad") != std::string_view::npos) return CompileStatus::BadProgram;
    if (source.find("warn") != std::string_view::npos) diags.push_back(warning());
    Signature s;
    s.kernel = file + ":" + std::string(source) + ":" + std::to_string(release);
    for (const auto &[name, value] : supplied.constants)
      s.kernel += ":" + name + "=" + value;
    out.push_back(std::move(s));
    return CompileStatus::Ok;
  }
  CompileStatus definition(std::string_view source, const CompileOptions &, Definition &out,
                           std::vector<Diagnostic> &) noexcept override {
    ++read;
    if (source.find("bad") != std::string_view::npos) return CompileStatus::BadProgram;
    out.name = source;
    out.bytes = source.size();
    out.names = {{"ts.f32", 3, 4}, {"B", 1, 2}};
    return CompileStatus::Ok;
  }
  CompileStatus compile(std::string_view source, const CompileOptions &o, std::string &bundle,
                        std::vector<Diagnostic> &diags) noexcept override {
    ++compiled;
    if (source.find("bad") != std::string_view::npos) return CompileStatus::BadProgram;
    if (source.find("warn") != std::string_view::npos) diags.push_back(warning());
    bundle = graphOf(source) + describe(o) + std::to_string(release);
    return CompileStatus::Ok;
  }
  CompileStatus emit(std::string_view source, const CompileOptions &o, Emit what, std::string &out,
                     std::vector<Diagnostic> &diags) noexcept override {
    if (what != Emit::Graph || o.targets.size() != 1 || o.kernels.size() != 1)
      return CompileStatus::BadProgram;
    if (source.find("no graph") != std::string_view::npos) return CompileStatus::Unimplemented;
    if (source.find("note") != std::string_view::npos) diags.push_back(warning());
    out = graphOf(source);
    return CompileStatus::Ok;
  }
  CompileStatus choices(std::string_view, const CompileOptions &, std::vector<VariantChoice> &,
                        std::vector<Diagnostic> &) noexcept override {
    return CompileStatus::Unimplemented;
  }
  std::vector<std::string> targets() noexcept override { return {"cpu"}; }
  std::string explain(std::string_view) noexcept override { return ""; }
  std::string version() noexcept override { return std::to_string(release); }

private:
  static std::string graphOf(std::string_view source) {
    return std::string(source.substr(0, source.find('#')));
  }
  static Diagnostic warning() {
    Diagnostic d;
    d.severity = Diagnostic::Severity::Warning;
    d.code = "W_UNUSED";
    return d;
  }
};

/// The loader's part.
struct Loader {
  std::mutex mutex;
  Counting compiler;
  std::vector<std::string> files; // the compiler's files
  LoadedCompiler loaded;
  int loads = 0;
  void reset() { loaded = {}, loads = 0, compiler.compiled = 0, compiler.signed_ = 0; }
} loader;

/// The codegen plugin "toy": what a key contains about it.
class Codegens final : public CodegenPlugins {
public:
  std::optional<std::string> file = "";
  CodegenPlugin load(std::string_view, std::string &) override { return {}; }
  std::vector<std::string> names() override { return {"toy"}; }
  std::optional<std::string> identity(std::string_view target) override {
    return target.starts_with("toy:") ? file : "";
  }
} codegens;

} // namespace

namespace tessera {
Expected<CompilerService *> loadCompiler() {
  std::lock_guard lock(loader.mutex);
  const std::string identity = identityOf(loader.files);
  if (loader.loaded.identity.empty() && identity.empty()) return Error{"E_NO_COMPILER", "not installed", ""};
  if (loader.loaded.identity.empty()) loader.loaded = {loader.files, identity}, ++loader.loads;
  return &loader.compiler;
}
CodegenPlugins &codegenPlugins() { return codegens; }
std::string compilerFile() { return loader.files.at(0); }
LoadedCompiler loadedCompiler() {
  std::lock_guard lock(loader.mutex);
  return loader.loaded;
}
} // namespace tessera

namespace {

class CachedCompilerTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tsr-cached-XXXXXX";
    root = ::mkdtemp(name);
    ::setenv("TESSERA_CACHE_DIR", (root + "/cache").c_str(), 1);
    loader.files = {root + "/libtessera-compiler.so", root + "/libLLVM.so"};
    for (const std::string &file : loader.files)
      std::ofstream(file) << "library";
    loader.compiler.release = 1;
    start();
    options.fileName = "a.py";
    options.kernels = {"k"};
  }
  void TearDown() override {
    ::unsetenv("TESSERA_CACHE_DIR");
    fs::remove_all(root);
  }
  /// Resets the state to that of a new process.
  void start() { loader.reset(); }
  std::string compile(std::string_view source, const CompileOptions &o) {
    std::string bundle;
    diags.clear();
    EXPECT_EQ(cachedCompiler()->compile(source, o, bundle, diags), CompileStatus::Ok);
    return bundle;
  }
  std::string compile(std::string_view source) { return compile(source, options); }
  /// Returns whether a new process compiles the source rather than finding it in the cache.
  bool isCompiled(std::string_view source, const CompileOptions &o) {
    start();
    compile(source, o);
    return loader.compiler.compiled != 0;
  }
  bool isCompiled(std::string_view source) { return isCompiled(source, options); }

  CompileOptions options;
  std::vector<Diagnostic> diags;
  std::string root;
};

TEST_F(CachedCompilerTest, CodeOfAPluginIsCachedUntilThePluginChanges) {
  options.targets = {"cpu", "toy:v1"};
  codegens.file = "/plugins/libtessera-codegen-toy.so 1";
  EXPECT_TRUE(isCompiled("source"));
  EXPECT_FALSE(isCompiled("source"));
  codegens.file = "/plugins/libtessera-codegen-toy.so 2";
  EXPECT_TRUE(isCompiled("source"));
  codegens.file = std::nullopt; // registered by the program
  EXPECT_TRUE(isCompiled("source"));
  EXPECT_TRUE(isCompiled("source"));
}

using Change = std::function<void(CompileOptions &)>;

// Every field that affects the code, and values that a key without separators would confuse.
const std::vector<Change> kChanges = {
    [](CompileOptions &) {},
    [](CompileOptions &o) { o.fileName = "b.py"; },
    [](CompileOptions &o) { o.kernels = {"kk"}; },
    [](CompileOptions &o) { o.kernels = {"k", "k"}; },
    [](CompileOptions &o) { o.kernels = {}; },
    [](CompileOptions &o) { o.targets = {"cpu:x86-64"}; },
    [](CompileOptions &o) { o.targets = {"cpu", "ptx:sm_90"}; },
    [](CompileOptions &o) { o.targets = {"ptx:sm_90", "cpu"}; },
    [](CompileOptions &o) { o.numerics = "strict"; },
    [](CompileOptions &o) { o.numerics = "fast"; },
    [](CompileOptions &o) { o.permits = NumericsPermissions{.contraction = true}; },
    [](CompileOptions &o) { o.dims = {{"M", 1}}; },
    [](CompileOptions &o) { o.dims = {{"M", 2}}; },
    [](CompileOptions &o) { o.dims = {{"M", 1}, {"N", 2}}; },
    [](CompileOptions &o) { o.tunables = {{"M", 1}}; },
    [](CompileOptions &o) { o.tunables = {{"tile_m", 64}}; },
    [](CompileOptions &o) { o.tunables = {{"tile_m", 128}}; },
    [](CompileOptions &o) { o.tunables = {{"tile_n", 128}}; },
    [](CompileOptions &o) { o.dims = {{"M", 1}}, o.tunables = {{"N", 2}}; },
    [](CompileOptions &o) { o.supplied.types = {{"x", "f32"}}; },
    [](CompileOptions &o) { o.supplied.types = {{"x", "f64"}}; },
    [](CompileOptions &o) { o.supplied.types = {{"k.x", "f32"}}; },
    [](CompileOptions &o) { o.supplied.constants = {{"x", "f32"}}; },
    [](CompileOptions &o) { o.supplied.constants = {{"x", "f32"}, {"y", "1"}}; },
    [](CompileOptions &o) { o.embedIr = {"graph"}; },
    [](CompileOptions &o) { o.embedIr = {"graph", "tile"}; },
    [](CompileOptions &o) { o.embedIr = {"tile"}; },
    [](CompileOptions &o) { o.isIr = true; },
    [](CompileOptions &o) { o.fuse = false; },
    [](CompileOptions &o) { o.decisions = {{"cpu", "k:1", "blas", {"tiles", "blas"}, "random", -1}}; },
    [](CompileOptions &o) { o.decisions = {{"cpu", "k:1", "tiles", {"tiles", "blas"}, "random", -1}}; },
    [](CompileOptions &o) { o.decisions = {{"cpu", "k:2", "blas", {"tiles", "blas"}, "random", -1}}; },
    [](CompileOptions &o) { o.decisions = {{"ptx", "k:1", "blas", {"tiles", "blas"}, "random", -1}}; },
    [](CompileOptions &o) { o.decisions = {{"cpu", "k:1", "blas", {"blas"}, "random", -1}}; },
    [](CompileOptions &o) { o.decisions = {{"cpu", "k:1", "blas", {"tiles", "blas"}, "replay", -1}}; },
    [](CompileOptions &o) { o.decisions = {{"cpu", "k:1", "blas", {"tiles", "blas"}, "random", 5}}; },
};

TEST_F(CachedCompilerTest, OptionsNeverShareAnEntry) {
  std::vector<std::string> bundles;
  for (const Change &change : kChanges) {
    CompileOptions o = options;
    change(o);
    EXPECT_TRUE(isCompiled("text", o)) << describe(o);
    bundles.push_back(compile("text", o));
    EXPECT_EQ(std::count(bundles.begin(), bundles.end(), bundles.back()), 1) << describe(o);
  }
  for (size_t i = 0; i < kChanges.size(); ++i) {
    CompileOptions o = options;
    kChanges[i](o);
    start();
    EXPECT_EQ(compile("text", o), bundles[i]);
    EXPECT_EQ(loader.loads, 0) << describe(o);
  }
}

// The first key does not contain these sources, so only the second key can confuse options.
TEST_F(CachedCompilerTest, OptionsNeverShareAnEntryOfTheSecondKey) {
  for (size_t i = 0; i < kChanges.size(); ++i) {
    CompileOptions o = options;
    kChanges[i](o);
    EXPECT_TRUE(isCompiled("text#" + std::to_string(i), o)) << describe(o);
  }
}

TEST_F(CachedCompilerTest, CommentsLeadToTheSameEntry) {
  EXPECT_TRUE(isCompiled("text"));
  EXPECT_FALSE(isCompiled("text# a comment"));
  EXPECT_EQ(loader.loads, 1) << "the graph is asked for";
  EXPECT_FALSE(isCompiled("text# a comment"));
  EXPECT_EQ(loader.loads, 0) << "and is remembered";
  EXPECT_EQ(compile("text# a comment"), compile("text"));
  EXPECT_TRUE(isCompiled("text, another"));
}

TEST_F(CachedCompilerTest, WithoutACompleteGraphOnlyTheSourceIsTheKey) {
  for (const Change &change :
       std::initializer_list<Change>{[](auto &o) { o.kernels = {"k", "l"}; }, [](auto &o) { o.kernels = {}; },
                                     [](auto &o) { o.embedIr = {"tile"}; }, [](auto &o) { o.isIr = true; }}) {
    CompileOptions o = options;
    change(o);
    EXPECT_TRUE(isCompiled("text", o));
    EXPECT_TRUE(isCompiled("text# moved lines", o)) << describe(o);
    EXPECT_FALSE(isCompiled("text", o));
  }
  for (const char *text : {"no graph", "note"}) { // the IR is not available, or came with a diagnostic
    EXPECT_TRUE(isCompiled(text));
    EXPECT_TRUE(isCompiled(std::string(text) + "# comment"));
    EXPECT_FALSE(isCompiled(text));
  }
}

TEST_F(CachedCompilerTest, FailuresAndWarningsAreNotCached) {
  EXPECT_TRUE(isCompiled("warn"));
  EXPECT_TRUE(isCompiled("warn"));
  EXPECT_EQ(diags.size(), 1u);
  for (int i = 0; i < 2; ++i) {
    std::string bundle;
    start();
    EXPECT_EQ(cachedCompiler()->compile("bad", options, bundle, diags), CompileStatus::BadProgram);
    EXPECT_EQ(loader.compiler.compiled, 1);
  }
}

TEST_F(CachedCompilerTest, SnapshotsAndTheSwitchBypassTheCache) {
  EXPECT_TRUE(isCompiled("text"));
  CompileOptions snapshots = options;
  snapshots.printIrAfterAll = root;
  EXPECT_TRUE(isCompiled("text", snapshots));
  ::setenv("TESSERA_CACHE_DIR", "off", 1);
  EXPECT_TRUE(isCompiled("text"));
  EXPECT_TRUE(isCompiled("text"));
}

TEST_F(CachedCompilerTest, SignaturesByFileNameAndSource) {
  auto signatures = [&](const char *source, const char *file) {
    start();
    std::vector<Signature> out;
    EXPECT_EQ(cachedCompiler()->signatures(source, file, out, diags), CompileStatus::Ok);
    return out.at(0).kernel;
  };
  EXPECT_EQ(signatures("s", "f"), "f:s:1");
  EXPECT_EQ(signatures("s", "g"), "g:s:1");
  EXPECT_EQ(signatures("t", "f"), "f:t:1");
  EXPECT_EQ(signatures("s", "f"), "f:s:1");
  EXPECT_EQ(loader.loads, 0);
  for (const char *value : {"3", "4", "3"}) {
    std::vector<Signature> out;
    (void)cachedCompiler()->signatures("s", "f", out, diags, {.types = {}, .constants = {{"K", value}}});
    EXPECT_EQ(out.at(0).kernel, std::string("f:s:1:K=") + value);
  }
  for (int i = 0; i < 2; ++i) {
    signatures("warn", "f");
    EXPECT_EQ(loader.compiler.signed_, 1) << "the warning comes again";
  }
  loader.compiler.release = 2;
  std::ofstream(loader.files[1]) << "a newer library";
  EXPECT_EQ(signatures("s", "f"), "f:s:2");
}

TEST_F(CachedCompilerTest, DefinitionsByText) {
  auto definition = [&](const char *text) {
    start();
    Definition out;
    EXPECT_EQ(cachedCompiler()->definition(text, {}, out, diags), CompileStatus::Ok);
    EXPECT_EQ(out.name, text);
    EXPECT_EQ(out.bytes, std::strlen(text));
    ASSERT_EQ(out.names.size(), 2u);
    EXPECT_EQ(out.names[0].name, "ts.f32");
    EXPECT_EQ(out.names[0].line, 3u);
    EXPECT_EQ(out.names[0].col, 4u);
  };
  definition("def f");
  definition("def g");
  EXPECT_EQ(loader.compiler.read, 2);
  definition("def f");
  EXPECT_EQ(loader.compiler.read, 2);
  EXPECT_EQ(loader.loads, 0);
}

// Updates a library that the compiler is linked with, as an update of LLVM's package does, and the compiler
// itself.
TEST_F(CachedCompilerTest, AnUpdateOfAnyFileOfTheCompilerIsDetected) {
  const std::vector<std::string> files = loader.files;
  for (const std::string &file : files) {
    const std::function<void()> updates[] = {
        [&] { std::ofstream(file, std::ios::app) << "more"; },
        [&] { // the same size and packaging time
          const auto time = fs::last_write_time(file);
          fs::copy_file(file, root + "/new");
          fs::last_write_time(root + "/new", time);
          fs::rename(root + "/new", file);
        },
        [&] { fs::last_write_time(file, fs::last_write_time(file) + std::chrono::nanoseconds(1)); },
        [&] { // the name is a link to another file
          fs::rename(file, file + ".1");
          fs::copy_file(file + ".1", file + ".2");
          fs::create_symlink(file + ".2", file);
        }};
    compile("text");
    for (const auto &update : updates) {
      update();
      const int release = ++loader.compiler.release;
      EXPECT_TRUE(isCompiled("text")) << file << " " << release;
      EXPECT_TRUE(compile("text").ends_with("|" + std::to_string(release)));
      EXPECT_FALSE(isCompiled("text"));
      EXPECT_EQ(loader.loads, 0);
    }
  }
}

TEST_F(CachedCompilerTest, AnAddedOrMovedLibraryIsDetected) {
  EXPECT_TRUE(isCompiled("text"));
  // Relinked: the compiler's file and its dependencies are different.
  std::ofstream(loader.files[0]) << "linked anew";
  loader.files.push_back(root + "/libMLIR.so");
  std::ofstream(loader.files[2]) << "library";
  EXPECT_TRUE(isCompiled("text"));
  EXPECT_FALSE(isCompiled("text"));
  std::ofstream(loader.files[2]) << "a newer one";
  EXPECT_TRUE(isCompiled("text"));
  // Found in another folder through LD_LIBRARY_PATH.
  ::setenv("LD_LIBRARY_PATH", root.c_str(), 1);
  start();
  compile("text");
  EXPECT_EQ(loader.loads, 1) << "which files those are is to be seen first";
  EXPECT_FALSE(isCompiled("text"));
  EXPECT_EQ(loader.loads, 0);
  ::unsetenv("LD_LIBRARY_PATH");
}

TEST_F(CachedCompilerTest, AnUpdateDuringAProcessDoesNotChangeItsKey) {
  compile("first");
  std::ofstream(loader.files[1]) << "a newer library"; // not the library in this process
  compile("second");
  EXPECT_EQ(loader.compiler.compiled, 2);
  compile("second");
  EXPECT_EQ(loader.compiler.compiled, 2) << "this process's own entry";
  EXPECT_TRUE(isCompiled("second")) << "kept as the new library's";
}

TEST_F(CachedCompilerTest, WithoutTheCompilerThereIsNoHit) {
  EXPECT_TRUE(isCompiled("text"));
  fs::remove(loader.files[1]);
  start();
  std::string bundle;
  EXPECT_EQ(cachedCompiler()->compile("text", options, bundle, diags), CompileStatus::BackendFailure);
  ASSERT_EQ(diags.size(), 1u);
  EXPECT_EQ(diags[0].code, "E_NO_COMPILER");
  EXPECT_EQ(diags[0].file, "a.py");
}

TEST_F(CachedCompilerTest, DamagedEntriesAreRewritten) {
  const std::string bundle = compile("text");
  std::vector<fs::path> entries;
  for (const auto &e : fs::directory_iterator(root + "/cache"))
    entries.push_back(e.path());
  ASSERT_EQ(entries.size(), 3u) << "files, alias, bundle";
  for (const fs::path &entry : entries)
    for (auto damage : std::initializer_list<std::function<void()>>{
             [&] { fs::resize_file(entry, fs::file_size(entry) - 1); },
             [&] { std::ofstream(entry, std::ios::app) << "x"; }, [&] { std::ofstream(entry) << ""; },
             [&] { fs::remove(entry); }}) {
      damage();
      start();
      EXPECT_EQ(compile("text"), bundle);
      start();
      EXPECT_EQ(compile("text"), bundle);
      EXPECT_EQ(loader.loads, 0) << "as before the damage";
    }
}

TEST_F(CachedCompilerTest, ThreadsAndProcessesPutConcurrently) {
  auto work = [&] {
    for (int i = 0; i < 40; ++i) {
      const std::string source = "text " + std::to_string(i % 8) + "# " + std::to_string(i % 3);
      std::string bundle;
      std::vector<Diagnostic> own;
      if (cachedCompiler()->compile(source, options, bundle, own) != CompileStatus::Ok || !own.empty() ||
          !bundle.starts_with("text " + std::to_string(i % 8) + "a.py|"))
        return false;
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work() ? 0 : 1);
    children.push_back(child);
  }
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { failed += !work(); });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(failed, 0);
  for (pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  start();
  EXPECT_TRUE(work());
  EXPECT_EQ(loader.loads, 0);
  for (const auto &e : fs::directory_iterator(root + "/cache"))
    EXPECT_EQ(e.path().extension(), ".entry") << "nothing half-written stays";
}

TEST(CompilerObjects, TheObjectThenWhatItIsLinkedWith) {
  const void *inside = ::dlsym(RTLD_DEFAULT, "_ZSt9terminatev");
  ASSERT_NE(inside, nullptr);
  const std::vector<std::string> files = objectsOf(inside);
  ASSERT_GE(files.size(), 2u);
  EXPECT_NE(files[0].find("libstdc++"), std::string::npos);
  EXPECT_NE(std::find_if(files.begin(), files.end(), [](auto &f) { return f.find("/libc.so") != f.npos; }),
            files.end());
  for (const std::string &file : files)
    EXPECT_TRUE(file.starts_with('/') && fs::exists(file)) << file;
  EXPECT_FALSE(identityOf(files).empty());
  int onStack = 0;
  EXPECT_TRUE(objectsOf(&onStack).empty());
  EXPECT_EQ(identityOf({}), "");
  EXPECT_EQ(identityOf({files[0], "/nowhere"}), "");
}

} // namespace
