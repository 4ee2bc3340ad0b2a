// Beside this program stands a compiler library made for it (FakeCompiler.cpp).
#include "core/test/Support.h"
#include <cfenv>
#include <cstdlib>

using namespace tessera;
using namespace tessera::test;

namespace {

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

// A failure is not kept, so this one comes first and the others still find the library.
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
