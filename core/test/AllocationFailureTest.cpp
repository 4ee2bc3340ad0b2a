// Makes each allocation of a whole run fail once. The call that needs it must return TSR_EOOM, all memory
// must be freed, and the next run must work. This program replaces operator new. libtessera's objects are
// linked into it, so their allocations use the replacement, and so do those of the stream's thread.
#include "core/log/LastError.h"
#include "core/test/Functions.h"
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> failing{-1}; // index of the allocation that fails, from 0; negative: none
std::atomic<int64_t> made{0};     // since arm()
std::atomic<int64_t> live{0};

bool failsNow() { return made.fetch_add(1) == failing.load(std::memory_order_relaxed); }

void arm(int64_t n) {
  made = 0;
  failing = n;
}

void *allocate(size_t bytes, size_t alignment) noexcept {
  if (failsNow()) return nullptr;
  void *p = alignment <= alignof(std::max_align_t)
                ? std::malloc(bytes ? bytes : 1)
                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p) live.fetch_add(1);
  return p;
}

void *allocateOrThrow(size_t bytes, size_t alignment) {
  if (void *p = allocate(bytes, alignment)) return p;
  throw std::bad_alloc();
}

void release(void *p) noexcept {
  if (p) live.fetch_sub(1);
  std::free(p);
}

} // namespace

void *operator new(size_t n) { return allocateOrThrow(n, 1); }
void *operator new[](size_t n) { return allocateOrThrow(n, 1); }
void *operator new(size_t n, std::align_val_t a) { return allocateOrThrow(n, static_cast<size_t>(a)); }
void *operator new[](size_t n, std::align_val_t a) { return allocateOrThrow(n, static_cast<size_t>(a)); }
void *operator new(size_t n, const std::nothrow_t &) noexcept { return allocate(n, 1); }
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return allocate(n, 1); }
void operator delete(void *p) noexcept { release(p); }
void operator delete[](void *p) noexcept { release(p); }
void operator delete(void *p, size_t) noexcept { release(p); }
void operator delete[](void *p, size_t) noexcept { release(p); }
void operator delete(void *p, std::align_val_t) noexcept { release(p); }
void operator delete[](void *p, std::align_val_t) noexcept { release(p); }
void operator delete(void *p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void *p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void *p, const std::nothrow_t &) noexcept { release(p); }
void operator delete[](void *p, const std::nothrow_t &) noexcept { release(p); }

namespace tessera::test {
namespace {

/// The device memory, supplied by the caller. Its allocations fail like the others.
std::atomic<int64_t> deviceBlocks{0};
void *deviceAlloc(void *, size_t bytes, size_t alignment) {
  if (failsNow()) return nullptr;
  deviceBlocks.fetch_add(1);
  return std::aligned_alloc(alignment, bytes);
}
void deviceFree(void *, void *p, size_t) {
  deviceBlocks.fetch_sub(1);
  std::free(p);
}

constexpr int64_t kRows = 8, kColumns = 8;
constexpr size_t kCount = kRows * kColumns;

/// The objects of a run. The caller keeps them, so that they can be destroyed after a failure.
struct Run {
  tsr_context_t context = nullptr;
  std::vector<float> in = std::vector<float>(kCount, 1.0f), out = std::vector<float>(kCount);
  std::vector<CompiledKernel> kernels = withKernels({kFourfoldYaml});

  /// Runs everything. Returns the first status that is not success.
  tsr_status_t run(bool ownAllocator) {
    tsr_allocator_t allocator{sizeof(tsr_allocator_t), nullptr, deviceAlloc, deviceFree};
    tsr_context_options_t options{};
    options.struct_size = sizeof options;
    if (ownAllocator) options.allocator = &allocator;
    tsr_module_t m = nullptr;
    tsr_kernel_t f = nullptr;
    tsr_stream_t s = nullptr;
    tsr_event_t e = nullptr;
    tsr_graph_t g = nullptr;
    void *x = nullptr, *y = nullptr;
    float a = 1;
    int64_t M = kRows, D = kColumns;
    void *args[] = {&x, &y, &a, &M, &D};
    constexpr size_t kBytes = kCount * sizeof(float);
    uint64_t workspace = 0;
#define TRY(call)                                                                                            \
  if (tsr_status_t status = (call)) return status
    TRY(tsrCreateContextEx(&options, &context));
    TRY(guarded([&] { return createModule(context, std::move(kernels), &m); })); // as for loading a bundle
    TRY(tsrGetKernel(m, nullptr, &f));
    TRY(tsrCreateStream(context, &s));
    TRY(tsrCreateEvent(context, &e));
    TRY(tsrAlloc(context, kBytes, TSR_MEM_DEVICE, &x));
    TRY(tsrAlloc(context, kBytes, TSR_MEM_DEVICE, &y));
    TRY(tsrMemcpyH2D(context, x, in.data(), kBytes));
    TRY(tsrKernelWorkspace(f, args, 5, &workspace));
    TRY(tsrLaunch(f, s, kFromMetadata, args, 5));
    TRY(tsrEventRecord(e, s));
    TRY(tsrStreamWaitEvent(nullptr, e));
    TRY(tsrMemcpyD2H(context, out.data(), y, kBytes));
    TRY(tsrStreamBeginCapture(s));
    TRY(tsrLaunch(f, s, kFromMetadata, args, 5));
    TRY(tsrStreamEndCapture(s, &g));
    TRY(tsrGraphLaunch(g, s));
    TRY(tsrStreamSynchronize(s));
    TRY(tsrDestroyGraph(g));
    TRY(tsrFree(context, x));
    TRY(tsrFree(context, y));
    TRY(tsrDestroyEvent(e));
    TRY(tsrDestroyStream(s));
    TRY(tsrUnloadModule(m));
    TRY(tsrTrimMemory(context));
    return tsrDestroyContext(std::exchange(context, nullptr));
#undef TRY
  }
};

/// Expects no more blocks than `before` and all device memory freed, after late helpers of a launch have
/// finished. Returns the number of live blocks. It is lower than `before` if a helper was late when `before`
/// was measured.
int64_t expectAllFreed(int64_t before, int64_t n) {
  for (int turn = 0; turn < 5000 && live > before; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  int64_t now = live;
  EXPECT_LE(now, before) << "allocation " << n;
  EXPECT_EQ(deviceBlocks.load(), 0) << "allocation " << n;
  return std::min(now, before);
}

/// Runs once with allocation `n` failing. Returns false if the run made fewer allocations.
bool runWithFailure(bool ownAllocator, int64_t n) {
  tsr_status_t status;
  std::string text;
  bool met;
  {
    Run run;
    arm(n);
    status = run.run(ownAllocator);
    met = made > n;
    arm(-1);
    text = tsrLastError();
    if (status == TSR_SUCCESS)
      for (size_t i = 0; i < kCount; ++i)
        EXPECT_EQ(run.out[i], static_cast<float>(4 + 4 * (i % kColumns) + 48)) << "allocation " << n;
    if (run.context) (void)tsrDestroyContext(run.context); // destroys all objects made in it
  }
  // Success: the failed allocation was optional, such as that of a helper for a launch.
  if (status != TSR_SUCCESS) EXPECT_EQ(status, TSR_EOOM) << "allocation " << n << ": " << text;
  return met;
}

class AllocationFailure : public testing::TestWithParam<bool> {};

TEST_P(AllocationFailure, IsAnErrorAndLeaksNothing) {
  for (int i = 0; i < 3; ++i) // allocates what the process keeps: tables, the text of the last error
    ASSERT_FALSE(runWithFailure(GetParam(), INT64_MAX - 1));
  tsr_stream_t none = nullptr;
  ASSERT_EQ(tsrDestroyStream(none), TSR_EINVAL);
  int64_t before = live, n = 0;
  for (; runWithFailure(GetParam(), n) && !HasFailure(); ++n)
    before = expectAllFreed(before, n);
  EXPECT_GT(n, 100); // operator new is replaced
  RecordProperty("allocations", static_cast<int>(n));
}

INSTANTIATE_TEST_SUITE_P(Runtime, AllocationFailure, testing::Bool(),
                         [](auto &info) { return std::string(info.param ? "CallersAllocator" : "OwnPool"); });

/// Calls with known dims do not allocate. The tensors have one row, so that each step is one program. With
/// more programs, timing would decide whether helpers are called, and a late helper costs the next launch a
/// block.
TEST(Allocations, RepeatedCallsMakeNone) {
  tsr_context_t context = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t f = nullptr;
  tsr_stream_t s = nullptr;
  void *x = nullptr, *y = nullptr;
  float a = 1;
  int64_t M = 1, D = kColumns;
  void *args[] = {&x, &y, &a, &M, &D};
  ASSERT_OK(tsrCreateContext(&context));
  ASSERT_OK(createModule(context, withKernels({kFourfoldYaml}), &m));
  ASSERT_OK(tsrGetKernel(m, nullptr, &f));
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  ASSERT_OK(tsrAlloc(context, kCount * sizeof(float), TSR_MEM_DEVICE, &x));
  ASSERT_OK(tsrAlloc(context, kCount * sizeof(float), TSR_MEM_DEVICE, &y));
  ASSERT_OK(tsrMemset(context, x, 0, kCount * sizeof(float)));
  auto calls = [&](int count) {
    for (int i = 0; i < count; ++i) {
      D = 1 + i % 4;
      ASSERT_OK(tsrLaunch(f, s, kFromMetadata, args, 5));
      ASSERT_OK(tsrStreamSynchronize(s));
    }
  };
  calls(200); // plans four sets of dims and fills the stream's ring buffer once
  arm(-1);
  calls(200);
  EXPECT_EQ(made.load(), 0);
  ASSERT_OK(tsrDestroyContext(context));
}

/// A failing call adds no part of itself to the graph, and the capture continues.
TEST(Allocations, AFailingCallRecordsNothing) {
  tsr_context_t context = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t f = nullptr;
  tsr_stream_t s = nullptr;
  void *x = nullptr, *y = nullptr;
  float a = 1;
  int64_t M = kRows, D = kColumns;
  void *args[] = {&x, &y, &a, &M, &D};
  ASSERT_OK(tsrCreateContext(&context));
  ASSERT_OK(createModule(context, withKernels({kFourfoldYaml}), &m));
  ASSERT_OK(tsrGetKernel(m, nullptr, &f));
  ASSERT_OK(tsrCreateStream(context, &s));
  ASSERT_OK(tsrAlloc(context, kCount * sizeof(float), TSR_MEM_DEVICE, &x));
  ASSERT_OK(tsrAlloc(context, kCount * sizeof(float), TSR_MEM_DEVICE, &y));
  for (uint64_t before : {0u, 1u}) { // calls recorded before the failing one
    tsr_status_t status = TSR_EOOM;
    int64_t n = 0;
    for (; status != TSR_SUCCESS; ++n) {
      tsr_graph_t g = nullptr;
      tsr_graph_info_t info{};
      info.struct_size = sizeof info;
      ASSERT_OK(tsrStreamBeginCapture(s));
      for (uint64_t i = 0; i < before; ++i)
        ASSERT_OK(tsrLaunch(f, s, kFromMetadata, args, 5));
      arm(n);
      status = tsrLaunch(f, s, kFromMetadata, args, 5);
      arm(-1);
      if (status != TSR_SUCCESS) ASSERT_EQ(status, TSR_EOOM) << tsrLastError();
      ASSERT_OK(tsrStreamEndCapture(s, &g));
      ASSERT_OK(tsrGraphInfo(g, &info));
      ASSERT_EQ(info.launches, 3 * (before + (status == TSR_SUCCESS))) << "allocation " << n;
      ASSERT_OK(tsrDestroyGraph(g));
    }
    EXPECT_GT(n, 4); // includes the workspace and each step's values
  }
  ASSERT_OK(tsrDestroyContext(context));
}

/// If ending a capture runs out of memory, the capture continues, and the next attempt returns the whole
/// graph.
TEST(Allocations, AFailingEndOfACaptureKeepsTheCapture) {
  tsr_context_t context = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t f = nullptr;
  tsr_stream_t s = nullptr;
  tsr_graph_t g = nullptr;
  void *x = nullptr, *y = nullptr;
  float a = 1;
  int64_t M = kRows, D = kColumns;
  void *args[] = {&x, &y, &a, &M, &D};
  ASSERT_OK(tsrCreateContext(&context));
  ASSERT_OK(createModule(context, withKernels({kFourfoldYaml}), &m));
  ASSERT_OK(tsrGetKernel(m, nullptr, &f));
  ASSERT_OK(tsrCreateStream(context, &s));
  ASSERT_OK(tsrAlloc(context, kCount * sizeof(float), TSR_MEM_DEVICE, &x));
  ASSERT_OK(tsrAlloc(context, kCount * sizeof(float), TSR_MEM_DEVICE, &y));
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(tsrLaunch(f, s, kFromMetadata, args, 5));
  tsr_status_t status = TSR_EOOM;
  int64_t n = 0;
  for (; status != TSR_SUCCESS; ++n) {
    arm(n);
    status = tsrStreamEndCapture(s, &g);
    arm(-1);
    if (status != TSR_SUCCESS) ASSERT_EQ(status, TSR_EOOM) << tsrLastError();
    int32_t capturing = -1;
    ASSERT_OK(tsrStreamIsCapturing(s, &capturing));
    ASSERT_EQ(capturing, status != TSR_SUCCESS) << "allocation " << n;
  }
  EXPECT_GT(n, 4); // includes the object, the nodes and the graph
  tsr_graph_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tsrGraphInfo(g, &info));
  EXPECT_EQ(info.launches, 3u);
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrStreamSynchronize(s));
  ASSERT_OK(tsrDestroyContext(context));
}

} // namespace
} // namespace tessera::test
