// Allocators supplied by the caller.
#include "core/test/Support.h"
#include <cstdlib>
#include <map>
#include <mutex>

using namespace tessera;
using namespace tessera::test;

namespace {

/// Counts calls, checks sizes, and fails one chosen call.
struct Counting {
  static void *alloc(void *user, size_t bytes, size_t alignment) {
    auto *self = static_cast<Counting *>(user);
    std::lock_guard lock(self->mutex);
    if (++self->calls == self->failing) return nullptr;
    auto *p = static_cast<char *>(std::aligned_alloc(alignment, bytes + alignment)) + self->skew;
    self->live.emplace(p, bytes);
    return p;
  }
  static void free(void *user, void *p, size_t bytes) {
    auto *self = static_cast<Counting *>(user);
    std::lock_guard lock(self->mutex);
    auto it = self->live.find(p);
    ASSERT_NE(it, self->live.end());
    EXPECT_EQ(it->second, bytes);
    self->live.erase(it);
    std::free(static_cast<char *>(p) - self->skew);
  }
  tsr_allocator_t hooks() { return {sizeof(tsr_allocator_t), this, alloc, free}; }

  std::mutex mutex;
  std::map<void *, size_t> live;
  int calls = 0, failing = 0;
  size_t skew = 0;
};

tsr_status_t create(const tsr_allocator_t *hooks, tsr_context_t &c) {
  tsr_context_options_t options{};
  options.struct_size = sizeof options;
  options.allocator = hooks;
  return tsrCreateContextEx(&options, &c);
}

/// Uses every kind of allocation on a context that may run out of memory at any call. Returns the first
/// status that is not success.
tsr_status_t useContext(tsr_context_t c) {
  tsr_module_t m = nullptr;
  tsr_kernel_t k = nullptr;
  tsr_stream_t s = nullptr;
  tsr_graph_t g = nullptr;
  std::vector<float> host(300, 1.0f);
  void *x = nullptr, *y = nullptr, *empty = nullptr;
  float alpha = 2;
  int64_t n = 300;
  void *args[] = {&x, &y, &alpha, &n};
#define TRY(call)                                                                                            \
  if (tsr_status_t status = (call)) return status
  TRY(createModule(c, {compiled(kSaxpyYaml, saxpy)}, &m));
  TRY(tsrGetKernel(m, nullptr, &k));
  TRY(tsrCreateStream(c, &s));
  TRY(tsrAlloc(c, 1200, TSR_MEM_DEVICE, &x));
  TRY(tsrAlloc(c, 1200, TSR_MEM_MANAGED, &y));
  TRY(tsrMemcpyH2D(c, x, host.data(), 1200));
  TRY(tsrMemset(c, y, 0, 1200));
  TRY(tsrStreamBeginCapture(s));
  TRY(tsrLaunch(k, s, kFromMetadata, args, 4));
  TRY(tsrStreamEndCapture(s, &g));
  TRY(tsrGraphLaunch(g, s));
  TRY(tsrStreamSynchronize(s));
  TRY(tsrAlloc(c, 0, TSR_MEM_PINNED_HOST, &empty));
  TRY(tsrFree(c, x));
  TRY(tsrAlloc(c, 3 << 20, TSR_MEM_DEVICE, &x));
  TRY(tsrMemcpyD2H(c, host.data(), y, 1200));
#undef TRY
  EXPECT_EQ(host[299], 2.0f);
  return TSR_SUCCESS;
}

TEST(Allocator, ServesEveryAllocation) {
  Counting memory;
  auto hooks = memory.hooks();
  tsr_context_t c = nullptr;
  ASSERT_OK(create(&hooks, c));
  ASSERT_OK(useContext(c));
  EXPECT_EQ(memory.calls, 4);
  EXPECT_EQ(memory.live.size(), 3u);
  tsr_memory_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tsrGetMemoryInfo(c, &info));
  size_t held = 0;
  for (auto &[p, bytes] : memory.live)
    held += bytes;
  EXPECT_EQ(info.in_use_bytes, held);
  EXPECT_EQ(info.pooled_bytes, 0u);
  ASSERT_OK(tsrTrimMemory(c));
  void *first = memory.live.begin()->first;
  ASSERT_OK(tsrFree(c, first));
  EXPECT_EQ(tsrFree(c, first), TSR_EINVAL);
  EXPECT_EQ(memory.live.size(), 2u);
  ASSERT_OK(tsrDestroyContext(c));
  EXPECT_TRUE(memory.live.empty());
}

TEST(Allocator, FailingAtEveryCallInTurn) {
  int n = 1;
  for (;; ++n) {
    Counting memory;
    memory.failing = n;
    auto hooks = memory.hooks();
    tsr_context_t c = nullptr;
    ASSERT_OK(create(&hooks, c));
    tsr_status_t status = useContext(c);
    if (memory.calls >= n) {
      EXPECT_EQ(status, TSR_EOOM);
      EXPECT_TRUE(lastErrorHas("the allocator of the context's options gave no "));
    } else {
      EXPECT_EQ(status, TSR_SUCCESS);
    }
    ASSERT_OK(tsrDestroyContext(c));
    EXPECT_TRUE(memory.live.empty());
    if (status == TSR_SUCCESS) break;
  }
  EXPECT_EQ(n, 5); // each of the four calls failed once
}

TEST(Allocator, MisalignedMemoryIsFreed) {
  Counting memory;
  memory.skew = 8;
  auto hooks = memory.hooks();
  tsr_context_t c = nullptr;
  ASSERT_OK(create(&hooks, c));
  void *p = nullptr;
  EXPECT_EQ(tsrAlloc(c, 100, TSR_MEM_DEVICE, &p), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("100 bytes aligned to 64 bytes"));
  EXPECT_TRUE(memory.live.empty());
  EXPECT_EQ(memory.calls, 1);
  EXPECT_EQ(tsrAlloc(c, SIZE_MAX, TSR_MEM_DEVICE, &p), TSR_EOOM);
  EXPECT_EQ(memory.calls, 1); // a size that overflows is never requested
  ASSERT_OK(tsrDestroyContext(c));
}

TEST(Allocator, IsChecked) {
  Counting memory;
  tsr_context_t c = nullptr;
  auto hooks = memory.hooks();
  hooks.alloc = nullptr;
  EXPECT_EQ(create(&hooks, c), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("allocator: alloc is NULL"));
  hooks = memory.hooks();
  hooks.free = nullptr;
  EXPECT_EQ(create(&hooks, c), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("allocator: free is NULL"));
  hooks.struct_size = 0;
  EXPECT_EQ(create(&hooks, c), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("allocator: struct_size is not set"));
}

TEST(Allocator, FromManyThreads) {
  Counting memory;
  auto hooks = memory.hooks();
  tsr_context_t c = nullptr;
  ASSERT_OK(create(&hooks, c));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (size_t i = 0; i < 200; ++i) {
        void *p = nullptr;
        ASSERT_OK(tsrAlloc(c, i, TSR_MEM_DEVICE, &p));
        if (i % 3) ASSERT_OK(tsrFree(c, p));
      }
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(memory.live.size(), 4u * 67);
  ASSERT_OK(tsrDestroyContext(c));
  EXPECT_TRUE(memory.live.empty());
}

} // namespace
