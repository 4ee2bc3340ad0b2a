#include "core/test/Support.h"
#include "plugins/cpu/runtime/MemoryPool.h"
#include "plugins/cpu/runtime/Topology.h"
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace tessera::test;
using tessera::cpu::MemoryPool;

namespace {

using Memory = RuntimeTest;

TEST_F(Memory, AllocationsAreAlignedAndDistinct) {
  std::vector<void *> blocks;
  for (size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u, 100000u, 300000u, 5000000u}) {
    void *p = nullptr;
    ASSERT_OK(tsrAlloc(context, bytes, TSR_MEM_DEVICE, &p));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    std::memset(p, 0x5A, bytes);
    for (void *other : blocks)
      EXPECT_NE(p, other);
    blocks.push_back(p);
  }
  for (void *p : blocks)
    EXPECT_OK(tsrFree(context, p));
}

TEST_F(Memory, AllocArguments) {
  void *p = nullptr;
  EXPECT_EQ(tsrAlloc(nullptr, 64, 0, &p), TSR_EINVAL);
  EXPECT_EQ(tsrAlloc(context, 64, 0, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrAlloc(context, 64, 3, &p), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("flags"));
  for (uint32_t flags : {TSR_MEM_DEVICE, TSR_MEM_PINNED_HOST, TSR_MEM_MANAGED}) {
    ASSERT_OK(tsrAlloc(context, 64, flags, &p));
    EXPECT_OK(tsrFree(context, p));
  }
}

TEST_F(Memory, ImpossibleSizesAreOutOfMemory) {
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, size_t{1} << 62, size_t{1} << 50}) {
    void *p = &bytes;
    EXPECT_EQ(tsrAlloc(context, bytes, TSR_MEM_DEVICE, &p), TSR_EOOM);
    EXPECT_EQ(p, &bytes); // unchanged
  }
  EXPECT_TRUE(lastErrorHas("bytes"));
}

TEST_F(Memory, FreeRefusesWhatIsNotALiveBlock) {
  char *p = alloc<char>(256);
  int local = 0;
  EXPECT_EQ(tsrFree(context, &local), TSR_EINVAL);
  EXPECT_EQ(tsrFree(context, p + 64), TSR_EINVAL);
  EXPECT_OK(tsrFree(context, nullptr));
  EXPECT_OK(tsrFree(context, p));
  EXPECT_EQ(tsrFree(context, p), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("freed twice"));
  EXPECT_EQ(tsrFree(nullptr, p), TSR_EINVAL);

  tsr_context_t other = nullptr;
  ASSERT_OK(tsrCreateContext(&other));
  p = alloc<char>(256);
  EXPECT_EQ(tsrFree(other, p), TSR_EINVAL);
  EXPECT_OK(tsrDestroyContext(other));
}

TEST_F(Memory, FreeWaitsForQueuedWork) {
  auto s = stream();
  auto *word = holdStream(s);
  char *p = alloc<char>(64);
  ASSERT_OK(tsrMemsetAsync(context, p, 1, 64, s));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    open(word);
  });
  EXPECT_OK(tsrFree(context, p));
  EXPECT_EQ(tsrStreamQuery(s), TSR_SUCCESS);
  opener.join();
}

TEST_F(Memory, MemoryInfo) {
  tsr_memory_info_t before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  ASSERT_OK(tsrGetMemoryInfo(context, &before));
  char *p = alloc<char>(3 << 20);
  ASSERT_OK(tsrGetMemoryInfo(context, &after));
  EXPECT_GE(after.in_use_bytes, before.in_use_bytes + (3 << 20));
  EXPECT_GT(after.total_bytes, 0u);
  ASSERT_OK(tsrFree(context, p));
  ASSERT_OK(tsrGetMemoryInfo(context, &after));
  EXPECT_GE(after.pooled_bytes, before.pooled_bytes + (3 << 20));
  EXPECT_OK(tsrTrimMemory(context));
  ASSERT_OK(tsrGetMemoryInfo(context, &after));
  EXPECT_LT(after.pooled_bytes, uint64_t{3} << 20);
  EXPECT_EQ(tsrGetMemoryInfo(context, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetMemoryInfo(nullptr, &after), TSR_EINVAL);
  EXPECT_EQ(tsrTrimMemory(nullptr), TSR_EINVAL);
}

TEST_F(Memory, CopiesMoveBytes) {
  std::vector<int> in(1000), out(1000);
  for (int i = 0; i < 1000; ++i)
    in[static_cast<size_t>(i)] = i * 7;
  int *a = alloc<int>(1000), *b = alloc<int>(1000);
  ASSERT_OK(tsrMemcpyH2D(context, a, in.data(), 4000));
  ASSERT_OK(tsrMemcpyD2D(context, b, a, 4000));
  ASSERT_OK(tsrMemcpyD2H(context, out.data(), b, 4000));
  EXPECT_EQ(in, out);
  ASSERT_OK(tsrMemcpyD2D(context, b + 1, b, 3996)); // overlapping
  ASSERT_OK(tsrMemcpyD2H(context, out.data(), b, 4000));
  EXPECT_EQ(out[1], in[0]);
  EXPECT_EQ(out[999], in[998]);
  ASSERT_OK(tsrMemset(context, a, 0xFF, 2000));
  ASSERT_OK(tsrMemcpyD2H(context, out.data(), a, 4000));
  EXPECT_EQ(out[499], -1);
  EXPECT_EQ(out[500], 3500);
}

TEST_F(Memory, AsyncCopiesFollowTheirStream) {
  auto s = stream();
  auto *word = holdStream(s);
  int in = 42, out = 0;
  int *a = alloc<int>(1), *b = alloc<int>(1);
  ASSERT_OK(tsrMemsetAsync(context, b, 0, 4, s));
  ASSERT_OK(tsrMemcpyH2DAsync(context, a, &in, 4, s));
  ASSERT_OK(tsrMemcpyD2DAsync(context, b, a, 4, s));
  ASSERT_OK(tsrMemcpyD2HAsync(context, &out, b, 4, s));
  EXPECT_EQ(tsrStreamQuery(s), TSR_NOT_READY);
  open(word);
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(out, 42);
}

TEST_F(Memory, CopyArguments) {
  char *p = alloc<char>(100);
  char host[200] = {};
  EXPECT_EQ(tsrMemcpyH2D(nullptr, p, host, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyH2D(context, nullptr, host, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyH2D(context, p, nullptr, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyH2D(context, p, host, 101), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("dst: the 101 bytes do not lie inside one live allocation"));
  EXPECT_EQ(tsrMemcpyH2D(context, p + 99, host, 2), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyH2D(context, host, host, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyD2H(context, host, p, SIZE_MAX), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyD2H(context, host, host, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyD2D(context, p, host, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyD2D(context, p, p, 101), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyD2DAsync(context, p, p, 101, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyD2HAsync(context, nullptr, p, 1, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrMemcpyH2DAsync(context, p, host, 1, reinterpret_cast<tsr_stream_t>(host)), TSR_EINVAL);
  EXPECT_OK(tsrMemcpyH2D(context, p + 100, host, 0));
  EXPECT_EQ(tsrMemset(context, p, 256, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemset(context, p, -1, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemset(context, nullptr, 0, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemset(context, p, 0, 101), TSR_EINVAL);
  EXPECT_EQ(tsrMemset(nullptr, p, 0, 1), TSR_EINVAL);
  EXPECT_EQ(tsrMemsetAsync(context, p, 0, 101, nullptr), TSR_EINVAL);
  ASSERT_OK(tsrFree(context, p));
  EXPECT_EQ(tsrMemcpyH2D(context, p, host, 1), TSR_EINVAL);
}

TEST(MemoryPool, RandomUseKeepsBlocksApart) {
  MemoryPool pool(uint64_t{1} << 30);
  std::mt19937 random(1);
  struct Live {
    unsigned char *p;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Live> live;
  for (int turn = 0; turn < 3000; ++turn) {
    if (live.empty() || random() % 5 < 3) {
      size_t bytes = size_t{1} << (random() % 20);
      bytes += random() % bytes;
      auto *p = static_cast<unsigned char *>(pool.alloc(bytes));
      ASSERT_NE(p, nullptr);
      live.push_back({p, bytes, static_cast<unsigned char>(turn)});
      p[0] = p[bytes - 1] = live.back().mark;
    } else {
      size_t i = random() % live.size();
      ASSERT_EQ(live[i].p[0], live[i].mark);
      ASSERT_EQ(live[i].p[live[i].bytes - 1], live[i].mark);
      ASSERT_TRUE(pool.free(live[i].p));
      live[i] = live.back();
      live.pop_back();
    }
  }
}

TEST(MemoryPool, LimitAndReuse) {
  MemoryPool pool(8 << 20);
  void *a = pool.alloc(5 << 20);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(pool.alloc(5 << 20), nullptr); // together they exceed the limit
  EXPECT_TRUE(pool.free(a));
  EXPECT_EQ(pool.bytesInUse(), 0u);
  void *b = pool.alloc(1 << 20);
  EXPECT_TRUE(pool.free(b));
  EXPECT_EQ(pool.alloc(1 << 20), b); // pooled and reused
}

TEST(MemoryPool, OwnsOnlyTheRequestedBytes) {
  MemoryPool pool(64 << 20);
  char *p = static_cast<char *>(pool.alloc(100));
  EXPECT_TRUE(pool.owns(p, 100));
  EXPECT_TRUE(pool.owns(p + 100, 0));
  EXPECT_FALSE(pool.owns(p, 101)); // although the block is larger
  EXPECT_FALSE(pool.owns(p - 1, 1));
  EXPECT_FALSE(pool.owns(p + 50, SIZE_MAX));
}

TEST_F(Memory, TrimReturnsSmallBlocksOnceNoneIsInUse) {
  auto pooled = [&] {
    tsr_memory_info_t info{};
    info.struct_size = sizeof info;
    EXPECT_OK(tsrGetMemoryInfo(context, &info));
    return info.pooled_bytes;
  };
  std::vector<char *> blocks;
  for (int i = 0; i < 2000; ++i)
    blocks.push_back(alloc<char>(4000));
  for (size_t i = 1; i < blocks.size(); ++i)
    ASSERT_OK(tsrFree(context, blocks[i]));
  ASSERT_OK(tsrTrimMemory(context));
  EXPECT_GT(pooled(), 0u);
  blocks[0][3999] = 1; // still valid
  ASSERT_OK(tsrFree(context, blocks[0]));
  ASSERT_OK(tsrTrimMemory(context));
  EXPECT_EQ(pooled(), 0u);
  char *again = alloc<char>(4000);
  again[3999] = 1;
  ASSERT_OK(tsrFree(context, again));
}

TEST(MemoryLimit, IsTheSmallestOfTheParentGroups) {
  namespace fs = std::filesystem;
  fs::path root = fs::path(testing::TempDir()) / ("tessera-groups-" + std::to_string(getpid()));
  fs::create_directories(root / "a" / "b");
  std::ofstream(root / "a" / "b" / "memory.max") << "max\n";
  EXPECT_EQ(tessera::cpu::groupMemoryLimit(root.string(), "/a/b"), UINT64_MAX);
  std::ofstream(root / "a" / "memory.max") << "4096\n";
  EXPECT_EQ(tessera::cpu::groupMemoryLimit(root.string(), "/a/b"), 4096u);
  std::ofstream(root / "memory.max") << "1024\n";
  EXPECT_EQ(tessera::cpu::groupMemoryLimit(root.string(), "/a/b"), 1024u);
  EXPECT_EQ(tessera::cpu::groupMemoryLimit((root / "none").string(), ""), UINT64_MAX);
  fs::remove_all(root);
}

} // namespace
