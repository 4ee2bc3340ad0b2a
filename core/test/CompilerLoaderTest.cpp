// A compiler library made for this program (FakeCompiler.cpp) is in the program's folder.
#include "core/test/Support.h"
#include <cfenv>
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tessera/tessera.hpp>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;

namespace {

#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // tsan cannot start threads after a fork
/// Runs `body` in a child process with its own context.
template <class Body> int statusOfChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    tsr_context_t own = nullptr;
    if (tsrCreateContext(&own) != TSR_SUCCESS) _exit(100);
    body(own);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// If there is no memory to map the compiler, the error must not report a missing compiler, and loading must
// not terminate the process.
TEST(BeforeTheLoad, MissingMemoryIsReported) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the address sanitizer maps more than any limit";
#endif
#endif
  const int status = statusOfChild([](tsr_context_t own) {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlimit none = {pages * 4096 + 16384, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &none);
    tsr_module_t m = nullptr;
    tsr_source_options_t o{};
    o.struct_size = sizeof o;
    const tsr_status_t status = tsrLoadModuleFromSource(own, "good", 4, &o, &m);
    const rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &all);
    const std::string said = tsrLastError();
    std::fprintf(stderr, "%s\n", said.c_str());
    _exit(status == TSR_EOOM && said.find("too little memory left to load the compiler") != said.npos ? 0
                                                                                                      : 1);
  });
  EXPECT_EQ(status, 0);
}
#endif

class LoadFromSource : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    options.struct_size = sizeof options;
    options.log = [](void *user, tsr_log_level_t level, const char *code, const char *text) {
      static_cast<LoadFromSource *>(user)->log += std::to_string(level) + " " + code + " " + text + "|";
    };
    options.log_user = this;
  }
  tsr_status_t load(const char *source) {
    return tsrLoadModuleFromSource(context, source, std::strlen(source), &options, &module);
  }
  tsr_source_options_t options{};
  tsr_module_t module = nullptr;
  std::string log;
};

// This test is first. A failure is not stored, so the other tests still find the library.
TEST_F(LoadFromSource, ACompilerOfAnotherBuildIsRefused) {
  setenv("FAKE_COMPILER_REFUSES", "1", 1);
  EXPECT_EQ(load("good"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("libtessera-compiler.so is of another build than this libtessera.so"));
  unsetenv("FAKE_COMPILER_REFUSES");
  EXPECT_EQ(load("good"), TSR_SUCCESS);
}

TEST_F(LoadFromSource, CompilesEveryTileKernel) {
  ASSERT_OK(load("good"));
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(module, "first", &k));
  ASSERT_OK(tsrGetKernel(module, "second", &k));
  auto *out = alloc<int64_t>(1);
  ASSERT_OK(launch(k, nullptr, out));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(*out, 42);
}

TEST_F(LoadFromSource, PassesOptionsAndReportsWarningsAndFallbacks) {
  tsr_named_int_t dims[] = {{"M", 1}, {"N", 2}}, tunable = {"BLOCK", 64};
  options.kernel = "first";
  options.numerics = "strict";
  options.target = "cpu:znver3";
  options.dims = dims;
  options.dim_count = 2;
  options.tunables = &tunable;
  options.tunable_count = 1;
  ASSERT_OK(load("good"));
  EXPECT_EQ(
      log,
      "1 W_UNUSED warning: [W_UNUSED] cpu:znver3 strict dims 2 tunables 1\n|2 N_FALLBACK fp4 runs as fp6|");
}

TEST_F(LoadFromSource, PassesSuppliedTypesAndConstants) {
  const tsr_named_text_t types[] = {{"x", "Tensor['n', f32]"}, {"first.a", "f32"}}, constant = {"B", "64"};
  options.kernel = "first";
  options.target = "cpu";
  options.types = types;
  options.type_count = 2;
  options.constants = &constant;
  options.constant_count = 1;
  ASSERT_OK(load("good"));
  EXPECT_NE(log.find("tunables 0 x: Tensor['n', f32] first.a: f32 B = 64"), std::string::npos) << log;
  // A program built before these fields were appended.
  options.struct_size = offsetof(tsr_source_options_t, types);
  log.clear();
  ASSERT_OK(load("good"));
  EXPECT_EQ(log.find("x: "), std::string::npos) << log;
}

TEST_F(LoadFromSource, SuppliedTypesAndConstantsAreChecked) {
  tsr_named_text_t text = {"x", nullptr};
  options.types = nullptr;
  options.type_count = 1;
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("types is NULL, yet its count is not 0"));
  options.types = &text;
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("types[0] (x) has no text"));
  text = {nullptr, "1"};
  options.type_count = 0;
  options.constants = &text;
  options.constant_count = 1;
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("constants[0] has no name"));
}

TEST_F(LoadFromSource, PassesPieces) {
  tsr_source_piece_t pieces[] = {{"a.py", 1, 12}, {"b.py", 4, 1}};
  options.pieces = pieces;
  options.piece_count = 2;
  ASSERT_OK(load("good"));
  EXPECT_NE(log.find("1 is a.py:12 4 is b.py:1"), std::string::npos) << log;
  pieces[1].line = 1;
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("pieces[1]: line 1 does not follow line 1"));
  pieces[1] = {"b.py", 4, 0};
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("pieces[1]: lines are counted from 1, found file_line 0"));
  pieces[1] = {nullptr, 4, 1};
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("pieces[1] has no file"));
  options.pieces = nullptr;
  EXPECT_EQ(load("good"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("pieces is NULL, yet its count is not 0"));
}

TEST_F(LoadFromSource, ReadsADefinition) {
  tsr_definition_info_t info{};
  info.struct_size = sizeof info;
  options.numerics = "none of these"; // not used here
  ASSERT_OK(tsrReadDefinition("word and more", 13, &options, &info));
  EXPECT_STREQ(info.name, "word");
  EXPECT_EQ(info.bytes, 4u);
  ASSERT_EQ(info.name_count, 1u);
  EXPECT_STREQ(info.names[0].name, "free");
  EXPECT_EQ(info.names[0].column, 2u);
  ASSERT_EQ(info.return_count, 2u);
  EXPECT_STREQ(info.returns[0], "");
  EXPECT_STREQ(info.returns[1], "word");
  EXPECT_EQ(tsrReadDefinition("syntax", 6, &options, &info), TSR_ECOMPILE);
  EXPECT_NE(log.find("expected a statement"), std::string::npos) << log;
}

TEST_F(LoadFromSource, DiagnosticsArePassedAsStructs) {
  options.diagnose = [](void *user, const tsr_diagnostic_t *d) {
    EXPECT_EQ(d->struct_size, sizeof *d);
    for (const char *text : {d->code, d->message, d->hint, d->file, d->source_line})
      ASSERT_NE(text, nullptr);
    *static_cast<std::string *>(user) += std::to_string(d->severity) + " " + d->file + ":" +
                                         std::to_string(d->line) + ":" + std::to_string(d->column) + "+" +
                                         std::to_string(d->length) + " " + d->code + " " + d->message + " (" +
                                         d->hint + ") " + d->source_line + "|";
  };
  std::string seen;
  options.diagnose_user = &seen;
  options.file_name = "k.py";
  EXPECT_EQ(load("marked"), TSR_ECOMPILE);
  EXPECT_EQ(load("syntax"), TSR_ECOMPILE); // marks no range, so its length is one byte
  EXPECT_EQ(seen, "0 k.py:1:1+3 E_SYNTAX expected a statement (write one) marked|"
                  "0 k.py:1:1+1 E_SYNTAX expected a statement () syntax|");
  EXPECT_NE(log.find("E_SYNTAX"), std::string::npos); // both callbacks are called
  seen.clear();
  options.log = nullptr;
  options.kernel = "first";
  ASSERT_OK(load("good"));
  EXPECT_THAT(seen, testing::StartsWith("1 :0:0+0 W_UNUSED cpu"));
  // A program built with an older header: the fields past its struct are not read.
  seen.clear();
  options.struct_size = offsetof(tsr_source_options_t, diagnose);
  EXPECT_EQ(load("syntax"), TSR_ECOMPILE);
  EXPECT_EQ(seen, "");
}

TEST_F(LoadFromSource, CompilesToABundleWithoutAContext) {
  const void *bundle = nullptr;
  size_t size = 0;
  ASSERT_OK(tsrCompile("good", 4, &options, &bundle, &size));
  EXPECT_THAT(log, testing::HasSubstr("W_UNUSED"));
  ASSERT_OK(tsrLoadModule(context, bundle, size, &module));
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(module, "second", &k));
  // A target of another backend may be used.
  log.clear();
  options.target = "ptx:sm_90";
  ASSERT_OK(tsrCompile("good", 4, &options, &bundle, &size));
  EXPECT_THAT(log, testing::HasSubstr("ptx:sm_90"));
  // A failing call writes nothing.
  const void *before = bundle;
  EXPECT_EQ(tsrCompile("syntax", 6, &options, &bundle, &size), TSR_ECOMPILE);
  EXPECT_EQ(bundle, before);
  EXPECT_EQ(tsrCompile(nullptr, 0, &options, &bundle, &size), TSR_EINVAL);
  EXPECT_EQ(tsrCompile("good", 4, &options, nullptr, &size), TSR_EINVAL);
  EXPECT_EQ(tsrCompile("good", 4, &options, &bundle, nullptr), TSR_EINVAL);
  options.struct_size = 0;
  EXPECT_EQ(tsrCompile("good", 4, &options, &bundle, &size), TSR_EINVAL);
}

TEST_F(LoadFromSource, TheWrapperCompilesAndInspects) {
  std::string codes;
  SourceOptions o;
  o.kernel = "first";
  o.target = "cpu";
  o.tunables = {{"BLOCK", 64}};
  o.types = {{"x", "f32"}};
  o.constants = {{"B", "64"}};
  std::string supplied;
  o.diagnose = [&](const tsr_diagnostic_t &d) { codes += d.code, supplied = d.message; };
  const std::string bundle = compile("good", o);
  EXPECT_EQ(codes, "W_UNUSED");
  EXPECT_NE(supplied.find("x: f32 B = 64"), std::string::npos) << supplied;
  ASSERT_OK(tsrLoadModule(context, bundle.data(), bundle.size(), &module));
  EXPECT_EQ(inspectIr("good", TSR_IR_SCHEDULE, o), "level 1 of first for cpu");
  EXPECT_THROW(compile("syntax", o), tessera::Error);
  EXPECT_THROW(compileToFile("good", "/nonexistent/x.tsrb", o), tessera::Error);
  EXPECT_THROW(inspectIr("syntax", TSR_IR_TILE, o), tessera::Error);
  EXPECT_NE(codes.find("E_SYNTAX"), std::string::npos);
}

TEST_F(LoadFromSource, ABundleFileIsReplacedAtomically) {
  const std::string path = testing::TempDir() + "/compiled-" + std::to_string(getpid()) + ".tsrb";
  auto compile = [&](std::string_view source) {
    return tsrCompileToFile(source.data(), source.size(), &options, path.c_str());
  };
  ASSERT_OK(compile("good"));
  ASSERT_OK(tsrLoadModuleFromFile(context, path.c_str(), nullptr, &module));
  EXPECT_EQ(compile("syntax"), TSR_ECOMPILE);
  ASSERT_OK(tsrLoadModuleFromFile(context, path.c_str(), nullptr, &module));
  unlink(path.c_str());
  EXPECT_EQ(compile("syntax"), TSR_ECOMPILE);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_EQ(tsrCompileToFile("good", 4, &options, "/nonexistent/x.tsrb"), TSR_EIO);
  EXPECT_TRUE(lastErrorHas("/nonexistent/x.tsrb: "));
  EXPECT_EQ(tsrCompileToFile("good", 4, &options, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrCompileToFile(nullptr, 4, &options, path.c_str()), TSR_EINVAL);
}

TEST_F(LoadFromSource, ShowsEveryLevel) {
  options.kernel = "first";
  options.target = "cpu:znver3";
  const char *text = nullptr;
  for (int32_t level : {TSR_IR_GRAPH, TSR_IR_SCHEDULE, TSR_IR_TILE, TSR_IR_TARGET, TSR_IR_ASSEMBLY}) {
    ASSERT_OK(tsrInspectIr("good", 4, &options, level, &text));
    EXPECT_EQ(text, "level " + std::to_string(level) + " of first for cpu:znver3");
  }
  for (int32_t level : {-1, 5, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(tsrInspectIr("good", 4, &options, level, &text), TSR_EINVAL);
    EXPECT_TRUE(lastErrorHas("level: expected 0 to 4"));
  }
  EXPECT_EQ(tsrInspectIr("good", 4, &options, TSR_IR_TILE, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrInspectIr(nullptr, 4, &options, TSR_IR_TILE, &text), TSR_EINVAL);
  EXPECT_EQ(tsrInspectIr("syntax", 6, &options, TSR_IR_TILE, &text), TSR_ECOMPILE);
  options.struct_size = 7;
  EXPECT_EQ(tsrInspectIr("good", 4, &options, TSR_IR_TILE, &text), TSR_EINVAL);
}

// Each thread keeps the result of its own last call.
TEST_F(LoadFromSource, ThreadsCompileAndInspectConcurrently) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string kernel = t % 2 ? "first" : "second";
      tsr_source_options_t own{};
      own.struct_size = sizeof own;
      own.kernel = kernel.c_str();
      own.target = "cpu";
      for (int i = 0; i < 20; ++i) {
        const char *text = nullptr;
        EXPECT_OK(tsrInspectIr("good", 4, &own, t % 5, &text));
        const void *bundle = nullptr;
        size_t size = 0;
        EXPECT_OK(tsrCompile("good", 4, &own, &bundle, &size));
        EXPECT_EQ(text, "level " + std::to_string(t % 5) + " of " + kernel + " for cpu");
        tsr_module_t m = nullptr;
        EXPECT_OK(tsrLoadModule(context, bundle, size, &m));
        tsr_kernel_t k = nullptr;
        EXPECT_OK(tsrGetKernel(m, kernel.c_str(), &k));
        EXPECT_OK(tsrUnloadModule(m));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(LoadFromSource, NumericsComesFromTheEnvironmentUnlessGiven) {
  setenv("TESSERA_NUMERICS", "deterministic", 1);
  options.kernel = "first";
  ASSERT_OK(load("good"));
  EXPECT_NE(log.find("cpu deterministic"), std::string::npos) << log;
  log.clear();
  options.numerics = "fast";
  ASSERT_OK(load("good"));
  EXPECT_NE(log.find("cpu fast"), std::string::npos) << log;
  unsetenv("TESSERA_NUMERICS");
}

TEST_F(LoadFromSource, TheCallersRoundingModeDoesNotReachTheCompiler) {
  std::fesetround(FE_UPWARD);
  tsr_status_t status = load("third");
  int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_OK(status);
  EXPECT_EQ(after, FE_UPWARD);
}

#if !defined(__has_feature) || !__has_feature(thread_sanitizer)
// exit() destroys static objects that a compilation in another thread is using.
TEST_F(LoadFromSource, TheProcessMayEndWhileOtherThreadsCompile) {
  ASSERT_OK(load("good")); // loads the library
  EXPECT_EQ(statusOfChild([&](tsr_context_t own) {
              int ends[2];
              if (pipe(ends) != 0) _exit(101);
              setenv("FAKE_COMPILER_BEGINS", std::to_string(ends[1]).c_str(), 1);
              std::thread([&, own] {
                for (;;)
                  tsrLoadModuleFromSource(own, "slow", 4, &options, &module);
              }).detach();
              char begun;
              (void)!read(ends[0], &begun, 1);
              std::exit(0);
            }),
            0);
}

// Runs in the ending process after the compiler's gate has closed: exit() calls the handlers in reverse
// order, and this one is registered before the compiler is loaded.
void (*afterTheGate)() = nullptr;
[[maybe_unused]] const int registered = std::atexit([] {
  if (afterTheGate) afterTheGate();
});

TEST_F(LoadFromSource, CompilationsOfAnEndingProcessAreRefused) {
  ASSERT_OK(load("good"));
  EXPECT_EQ(statusOfChild([&](tsr_context_t own) {
              static std::atomic<int> result{-1};
              afterTheGate = [] {
                while (result < 0)
                  std::this_thread::yield();
                _exit(result);
              };
              std::thread([&, own] {
                tsr_status_t status;
                do { // until the gate closes, the compiler itself refuses the source
                  log.clear();
                  status = tsrLoadModuleFromSource(own, "syntax", 6, &options, &module);
                } while (status == TSR_ECOMPILE);
                const char *text = "error: [E_ENDING] the process is ending: nothing more is compiled";
                result =
                    status == TSR_EINTERNAL && lastErrorHas(text) && log.starts_with("0 E_ENDING ") ? 0 : 1;
              }).detach();
              std::exit(2);
            }),
            0);
}
#endif

TEST_F(LoadFromSource, ProgramErrors) {
  options.file_name = "a.py";
  EXPECT_EQ(load("syntax"), TSR_ECOMPILE);
  EXPECT_STREQ(tsrLastError(), "a.py:1:1: error: [E_SYNTAX] expected a statement\n  syntax\n  ^");
  EXPECT_EQ(log, "0 E_SYNTAX a.py:1:1: error: [E_SYNTAX] expected a statement\n  syntax\n  ^\n|");
  EXPECT_EQ(load("missing"), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("[E_UNIMPLEMENTED] rand on dtype f64"));
  EXPECT_EQ(load("silent"), TSR_EINTERNAL);
  EXPECT_TRUE(lastErrorHas("the compiler failed without a diagnostic"));
  EXPECT_EQ(module, nullptr);
}

} // namespace
