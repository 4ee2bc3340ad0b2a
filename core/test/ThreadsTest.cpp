// Many threads on one context.
#include "core/test/Functions.h"
#include <functional>

using namespace tessera;
using namespace tessera::test;

namespace {

using Threads = RuntimeTest;

void inThreads(int count, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back(body, i);
  for (std::thread &t : threads)
    t.join();
}

TEST_F(Threads, LaunchOnStreamsOfTheirOwn) {
  auto k = kernel(kSaxpyYaml, saxpy);
  inThreads(6, [&](int) {
    auto s = stream();
    auto *x = alloc<float>(5000, 1.0f), *y = alloc<float>(5000, 0.0f);
    for (int i = 0; i < 40; ++i)
      ASSERT_OK(launch(k, s, x, y, 1.0f, int64_t{5000}));
    std::vector<float> out(5000);
    ASSERT_OK(tsrMemcpyD2HAsync(context, out.data(), y, 20000, s));
    ASSERT_OK(tsrDestroyStream(s));
    for (float v : out)
      ASSERT_EQ(v, 40.0f);
    ASSERT_OK(tsrFree(context, x));
    ASSERT_OK(tsrFree(context, y));
  });
}

TEST_F(Threads, ShareOneStream) {
  auto s = stream();
  auto k = kernel(kSaxpyYaml, saxpy);
  auto *x = alloc<float>(64, 1.0f), *y = alloc<float>(64, 0.0f);
  inThreads(6, [&](int) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_OK(launch(k, s, x, y, 1.0f, int64_t{64}));
      if (i % 50 == 0) ASSERT_OK(tsrStreamSynchronize(s));
    }
  });
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(y[63], 1200.0f);
}

class FunctionThreads : public FunctionTest {};

/// Each thread uses its own dims, which change from call to call, so that the function always plans.
TEST_F(FunctionThreads, CallOneFunctionOnStreamsOfTheirOwn) {
  auto f = function(kFourfoldYaml);
  inThreads(6, [&](int thread) {
    auto s = stream();
    auto *x = alloc<float>(50 * 8, 1.0f), *y = alloc<float>(50 * 8);
    for (int64_t i = 0; i < 60; ++i) {
      int64_t M = 1 + (7 * i + thread) % 50;
      ASSERT_OK(launch(f, s, x, y, 1.0f, M, int64_t{8}));
      ASSERT_OK(tsrStreamSynchronize(s));
      for (int64_t j = 0; j < 8 * M; ++j)
        ASSERT_EQ(y[j], static_cast<float>(4 + 4 * (j % 8) + 48));
      if (i % 20 == 0) ASSERT_OK(tsrTrimMemory(context));
    }
    ASSERT_OK(tsrDestroyStream(s));
  });
}

/// One workspace serves all threads: the steps of two calls must not interleave.
TEST_F(FunctionThreads, CallOneFunctionOnOneStream) {
  auto f = function(kFourfoldYaml);
  auto s = stream();
  inThreads(6, [&](int thread) {
    auto *x = alloc<float>(50 * 8, static_cast<float>(thread)), *y = alloc<float>(50 * 8);
    for (int64_t i = 0; i < 60; ++i) {
      int64_t M = 1 + (7 * i + thread) % 50;
      ASSERT_OK(launch(f, s, x, y, 1.0f, M, int64_t{8}));
      if (i % 10) continue;
      ASSERT_OK(tsrStreamSynchronize(s));
      for (int64_t j = 0; j < 8 * M; ++j)
        ASSERT_EQ(y[j], static_cast<float>(4 * thread + 4 * (j % 8) + 48));
    }
  });
  ASSERT_OK(tsrDestroyStream(s));
}

TEST_F(Threads, PassATokenThroughEvents) {
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  std::vector<tsr_stream_t> streams;
  for (int i = 0; i < 4; ++i)
    streams.push_back(stream());
  auto token = event();
  for (int32_t i = 0; i < 16; ++i) {
    tsr_stream_t s = streams[static_cast<size_t>(i) % 4];
    ASSERT_OK(tsrStreamWaitEvent(s, token));
    ASSERT_OK(launch(k, s, word, i % 9 + 1));
    ASSERT_OK(tsrEventRecord(token, s));
  }
  ASSERT_OK(tsrEventSynchronize(token));
  EXPECT_EQ(*word, 1234567891234567);
}

TEST_F(Threads, CreateAndDestroyAllKinds) {
  inThreads(6, [&](int) {
    for (int i = 0; i < 30; ++i) {
      tsr_module_t m = nullptr;
      tsr_kernel_t k = nullptr;
      ASSERT_OK(createModule(context, {compiled(kDigitYaml, digit)}, &m));
      ASSERT_OK(tsrGetKernel(m, nullptr, &k));
      auto s = stream();
      auto e = event();
      auto *word = alloc<int64_t>(1);
      ASSERT_OK(launch(k, s, word, int32_t{3}));
      ASSERT_OK(tsrEventRecord(e, s));
      ASSERT_OK(tsrUnloadModule(m));
      ASSERT_OK(tsrEventSynchronize(e));
      ASSERT_EQ(*word, 3);
      ASSERT_OK(tsrDestroyEvent(e));
      ASSERT_OK(tsrDestroyStream(s));
      ASSERT_OK(tsrFree(context, word));
    }
  });
}

TEST_F(Threads, ContextsComeAndGo) {
  inThreads(4, [](int) {
    for (int i = 0; i < 10; ++i) {
      tsr_context_t c = nullptr;
      void *p = nullptr;
      ASSERT_OK(tsrCreateContext(&c));
      ASSERT_OK(tsrAlloc(c, 100000, TSR_MEM_DEVICE, &p));
      ASSERT_OK(tsrMemset(c, p, 7, 100000));
      ASSERT_OK(tsrDestroyContext(c));
    }
  });
}

} // namespace
