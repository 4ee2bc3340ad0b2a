#include "core/log/Log.h"
#include "core/test/Support.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <unistd.h>

using namespace tessera::test;

namespace {

struct LogTest : testing::Test {
  void TearDown() override {
    EXPECT_OK(tsrSetLogCallback(nullptr, nullptr, TSR_LOG_ERROR));
    unsetenv("TESSERA_BAKEND");
  }
  void listen(tsr_log_level_t level) { EXPECT_OK(tsrSetLogCallback(keep, this, level)); }
  static void keep(void *user, tsr_log_level_t level, const char *code, const char *text) {
    auto *self = static_cast<LogTest *>(user);
    std::lock_guard lock(self->mutex);
    self->lines.push_back(std::to_string(level) + " " + code + " " + text);
  }
  bool has(const char *text) {
    std::lock_guard lock(mutex);
    for (const std::string &line : lines)
      if (line.find(text) != std::string::npos) return true;
    return false;
  }
  void makeContext() {
    tsr_context_t c = nullptr;
    ASSERT_OK(tsrCreateContext(&c));
    ASSERT_OK(tsrDestroyContext(c));
  }
  std::mutex mutex;
  std::vector<std::string> lines;
};

TEST_F(LogTest, ReportsTheChosenBackendAndWhy) {
  listen(TSR_LOG_NOTE);
  makeContext();
  EXPECT_TRUE(has("2 N_BACKEND context on backend cpu, device 0 ("));
  EXPECT_TRUE(has("chosen by the best available"));
  ASSERT_OK(tsrSelectBackend("cpu"));
  makeContext();
  ASSERT_OK(tsrSelectBackend(nullptr));
  EXPECT_TRUE(has("chosen by tsrSelectBackend"));
  listen(TSR_LOG_WARNING);
  lines.clear();
  makeContext();
  EXPECT_TRUE(lines.empty());
}

TEST_F(LogTest, ControlCharactersAreEscaped) {
  listen(TSR_LOG_WARNING);
  tessera::log(TSR_LOG_WARNING, "W_PLUGIN", "a\x1b[31m\r\xc2\x9b\x7f\n\tb \xc3\xa4");
  EXPECT_TRUE(has("W_PLUGIN a\\x1b[31m\\x0d\\xc2\\x9b\\x7f\n\tb \xc3\xa4"));
}

TEST_F(LogTest, WarnsAboutTheEnvironmentOnceAndOnlyToACallback) {
  setenv("TESSERA_BAKEND", "cpu", 1);
  makeContext(); // there is no callback, so the warning is still pending
  listen(TSR_LOG_WARNING);
  makeContext();
  EXPECT_TRUE(
      has("1 W_ENVIRONMENT unknown environment variable TESSERA_BAKEND, did you mean TESSERA_BACKEND?"));
  lines.clear();
  makeContext();
  EXPECT_FALSE(has("TESSERA_BAKEND"));
}

TEST_F(LogTest, WarnsAboutAnInvalidCacheSize) {
  setenv("TESSERA_CACHE_SIZE", "abc", 1);
  listen(TSR_LOG_WARNING);
  makeContext();
  unsetenv("TESSERA_CACHE_SIZE");
  EXPECT_TRUE(has("1 W_ENVIRONMENT TESSERA_CACHE_SIZE is 'abc', which is not a size"));
}

TEST_F(LogTest, WarnsAboutDisabledNamesThatNoBackendHas) {
  setenv("TESSERA_BACKENDS_DISABLE", "rocm,level_zero,rocn vulkan", 1);
  listen(TSR_LOG_WARNING);
  makeContext();
  unsetenv("TESSERA_BACKENDS_DISABLE");
  EXPECT_EQ(lines.size(), 2u); // level_zero is another name of levelzero
  EXPECT_TRUE(has("1 W_ENVIRONMENT TESSERA_BACKENDS_DISABLE names 'rocn', which is no backend, did you mean "
                  "rocm?"));
  EXPECT_TRUE(has("names 'vulkan', which is no backend; there are cpu, "));
}

TEST_F(LogTest, WarnsAboutAnArchitectureThatNothingEmulates) {
  setenv("TESSERA_ARCH", "sm_90a", 1);
  listen(TSR_LOG_WARNING);
  makeContext();
  EXPECT_TRUE(has("1 W_ENVIRONMENT TESSERA_ARCH is 'sm_90a', but backend cpu is not emulated"));
  unsetenv("TESSERA_ARCH");
}

TEST_F(LogTest, FailuresFoundAtDestruction) {
  listen(TSR_LOG_ERROR);
  tsr_context_t c = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t k = nullptr;
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrCreateContext(&c));
  ASSERT_OK(tsrCreateStream(c, &s));
  ASSERT_OK(tessera::createModule(c, {compiled(kGreedyYaml, saxpy)}, &m));
  ASSERT_OK(tsrGetKernel(m, nullptr, &k));
  ASSERT_OK(tsrLaunch(k, s, kFromMetadata, nullptr, 0));
  EXPECT_EQ(tsrDestroyStream(s), TSR_EOOM);
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_TRUE(has("0 E_QUEUED_WORK kernel greedy: cannot get"));
  ASSERT_OK(tsrLaunch(k, nullptr, kFromMetadata, nullptr, 0));
  EXPECT_EQ(tsrDestroyContext(c), TSR_EOOM);
  EXPECT_EQ(lines.size(), 2u);
}

TEST_F(LogTest, LogsAFallbackOnce) {
  listen(TSR_LOG_NOTE);
  tessera::logOnce(TSR_LOG_NOTE, "N_FALLBACK", "fp6 computes in f32");
  tessera::logOnce(TSR_LOG_NOTE, "N_FALLBACK", "fp6 computes in f32");
  EXPECT_EQ(lines.size(), 1u);
}

TEST_F(LogTest, TheCallbackMayCallTheLibrary) {
  static int calls = 0;
  auto reenter = [](void *, tsr_log_level_t, const char *, const char *) {
    ++calls;
    EXPECT_OK(tsrSetLogCallback(nullptr, nullptr, TSR_LOG_ERROR));
    tsr_context_t c = nullptr;
    EXPECT_OK(tsrCreateContext(&c));
    EXPECT_OK(tsrDestroyContext(c));
  };
  ASSERT_OK(tsrSetLogCallback(reenter, nullptr, TSR_LOG_DEBUG));
  makeContext();
  EXPECT_EQ(calls, 1);
}

/// Messages of the plugin loader are delivered after its lock is released, so another thread can enter the
/// loader meanwhile.
TEST_F(LogTest, PluginsAreReportedWithoutALock) {
  const std::string directory = testing::TempDir() + "tessera-log-" + std::to_string(getpid());
  std::filesystem::create_directory(directory);
  std::ofstream(directory + "/libtessera-nothing.so") << "no plugin";
  setenv("TESSERA_PLUGIN_PATH", directory.c_str(), 1);
  static std::atomic<int> entered;
  entered = 0;
  auto enter = [](void *, tsr_log_level_t, const char *code, const char *) {
    if (std::string(code) != "D_PLUGIN") return;
    EXPECT_OK(tsrSetLogCallback(nullptr, nullptr, TSR_LOG_ERROR));
    std::packaged_task<tsr_status_t()> task([] {
      const char *json;
      return tsrGetLoadReport(0, &json);
    });
    auto got = task.get_future();
    std::thread other(std::move(task));
    if (got.wait_for(std::chrono::seconds(60)) != std::future_status::ready)
      std::abort(); // otherwise it would wait forever
    EXPECT_EQ(got.get(), TSR_SUCCESS);
    other.join();
    ++entered;
  };
  ASSERT_OK(tsrSetLogCallback(enter, nullptr, TSR_LOG_DEBUG));
  const char *json = nullptr;
  EXPECT_OK(tsrGetLoadReport(0, &json));
  EXPECT_EQ(entered, 1);
  unsetenv("TESSERA_PLUGIN_PATH");
  std::filesystem::remove_all(directory);
}

TEST_F(LogTest, ManyThreadsLogAndSetTheCallback) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        listen(t % 2 ? TSR_LOG_NOTE : TSR_LOG_ERROR);
        makeContext();
      }
    });
  for (auto &t : threads)
    t.join();
}

TEST_F(LogTest, UnknownLevels) {
  EXPECT_EQ(tsrSetLogCallback(keep, this, static_cast<tsr_log_level_t>(4)), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("level: unknown value 4"));
  EXPECT_EQ(tsrSetLogCallback(keep, this, static_cast<tsr_log_level_t>(-1)), TSR_EINVAL);
}

} // namespace
