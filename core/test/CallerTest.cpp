// Brief work on an idle CPU stream runs in the calling thread, with the order, the events and the
// floating-point modes of the stream.
#include "core/test/Fixture.h"
#include "core/test/Support.h"
#include "plugins/cpu/runtime/Topology.h"
#include <cfenv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;

namespace {

/// What memory holds while a stream may be writing to it.
[[gnu::noinline, clang::no_sanitize("thread")]] int64_t peek(const int64_t *from) {
  return *static_cast<const volatile int64_t *>(from);
}

class Callers : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    out = alloc<int64_t>(1);
    s = stream();
  }
  /// A compiled kernel of FixtureKernels.c whose metadata has `launch` and more parameters.
  tsr_kernel_t image(const char *name, const char *launch = "launch: {may_wait: false}", int scalars = 0) {
    Bundle bundle;
    bundle.images = {fixtureImage("cpu:x86-64", {name})};
    std::string &metadata = bundle.images[0].entries[0].metadata;
    metadata.replace(metadata.find("launch: {}"), 10, launch);
    for (int i = 0; i < scalars; ++i)
      metadata.insert(metadata.find("], launch"),
                      ", {name: s" + std::to_string(i) + ", kind: scalar, dtype: i64}");
    std::string bytes;
    BundleError error;
    EXPECT_TRUE(writeBundle(bundle, bytes, error)) << error.text();
    tsr_module_t m = nullptr;
    tsr_kernel_t k = nullptr;
    EXPECT_OK(tsrLoadModule(context, bytes.data(), bytes.size(), &m));
    EXPECT_OK(tsrGetKernel(m, name, &k));
    return k;
  }
  static int64_t self() { return static_cast<int64_t>(pthread_self()); }
  /// Returns whether one of many launches ran in this thread before tsrLaunch returned. Many are needed
  /// because the time of a launch is predicted from earlier ones, which a busy machine may have slowed down.
  bool everHere(tsr_kernel_t k, int launches = 2000, int scalars = 0) {
    int64_t scalar = 5;
    std::vector<void *> args(static_cast<size_t>(1 + scalars), &scalar);
    args[0] = &out;
    for (int i = 0; i < launches; ++i) {
      *out = 0;
      EXPECT_OK(tsrLaunch(k, s, kFromMetadata, args.data(), args.size()));
      if (peek(out) == self()) return true;
      while (tsrStreamQuery(s) == TSR_NOT_READY)
        std::this_thread::yield();
    }
    return false;
  }
  int64_t *out = nullptr;
  tsr_stream_t s = nullptr;
};

// This test is first, since the first launch that wakes the workers starts them from this thread.
TEST_F(Callers, StartWorkersThatTakeNoSignals) {
  *out = 0;
  ASSERT_OK(launch(image("signals", "launch: {axes: ['64'], may_wait: false}"), s, out));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*out & 2, 0);
}

TEST_F(Callers, RunBriefKernels) { EXPECT_TRUE(everHere(image("thread"))); }

TEST_F(Callers, RunKernelsOfManyArguments) {
  constexpr const char *brief = "launch: {may_wait: false}";
  EXPECT_TRUE(everHere(image("thread", brief, 63), 2000, 63));
  EXPECT_FALSE(everHere(image("thread", brief, 64), 200, 64)); // 65 with the result
}

// A kernel that waits for the host would block forever here.
TEST_F(Callers, DoNotRunKernelsThatMayWait) {
  EXPECT_FALSE(everHere(image("thread", "launch: {may_wait: true}")));
  EXPECT_FALSE(everHere(image("thread", "launch: {}"))); // it is unknown whether it waits
}

// The launcher measures the first program to decide about helpers. It may be the shortest one.
TEST_F(Callers, DoNotRunKernelsWhoseLaterProgramsAreLong) {
  EXPECT_FALSE(everHere(image("uneven", "launch: {axes: ['64'], may_wait: false}"), 20));
}

TEST_F(Callers, DoNotRunKernelsThatNeedMuchScratch) {
  EXPECT_FALSE(everHere(image("thread", "resources: {scratch_bytes: 4194305}, launch: {may_wait: false}")));
}

TEST_F(Callers, RunNothingIfTheEnvironmentDisablesIt) {
  setenv("TESSERA_CPU_INLINE", "off", 1);
  s = stream();
  unsetenv("TESSERA_CPU_INLINE");
  EXPECT_FALSE(everHere(image("thread")));
}

TEST_F(Callers, CompleteCopiesFillsAndRecordsOfAnIdleStream) {
  tsr_event_t e = event();
  int64_t from = 7;
  bool copied = false, filled = false, recorded = false;
  for (int i = 0; i < 200 && !(copied && filled && recorded); ++i) {
    *out = 0;
    EXPECT_OK(tsrMemcpyH2DAsync(context, out, &from, 8, s));
    copied |= peek(out) == 7;
    EXPECT_OK(tsrMemsetAsync(context, out, 0, 8, s));
    filled |= copied && peek(out) == 0;
    EXPECT_OK(tsrEventRecord(e, s));
    recorded |= tsrEventQuery(e) == TSR_SUCCESS;
    EXPECT_OK(tsrStreamSynchronize(s));
  }
  EXPECT_TRUE(copied && filled && recorded);
}

// The first launch is queued, since its cost is unknown. The thread of a new stream has not started yet.
TEST_F(Callers, RunQueuedKernelsWhileTheyWait) {
  bool ran = false;
  for (int i = 0; i < 200 && !ran; ++i) {
    s = stream();
    EXPECT_OK(launch(image("thread"), s, out));
    EXPECT_OK(tsrStreamSynchronize(s));
    ran = *out == self();
  }
  EXPECT_TRUE(ran);
}

TEST_F(Callers, WorkOfManyThreadsNeverOverlaps) {
  constexpr int kThreads = 4, kEach = 3000;
  auto k = image("count");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_OK(launch(k, s, out));
        if ((i + t) % 7 == 0) EXPECT_OK(tsrStreamSynchronize(s));
      }
    });
  for (std::thread &t : threads)
    t.join();
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*out, kThreads * kEach);
}

TEST_F(Callers, DoNotOvertakeQueuedWork) {
  auto k = image("count");
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(launch(k, s, out)); // the cost is known from now on
    ASSERT_OK(tsrStreamSynchronize(s));
  }
  *out = 0;
  auto *held = holdStream(s);
  ASSERT_OK(launch(k, s, out));
  ASSERT_OK(tsrMemsetAsync(context, out, 9, 8, s));
  EXPECT_EQ(*out, 0);
  EXPECT_EQ(tsrStreamQuery(s), TSR_NOT_READY);
  EXPECT_EQ(tsrStreamSynchronizeFor(s, 1000000), TSR_ETIMEOUT); // a wait with a timeout runs nothing
  open(held);
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*out, 0x0909090909090909);
}

TEST_F(Callers, KeepTheirRoundingModeFromKernels) {
  auto k = image("rounding");
  std::fesetround(FE_UPWARD);
  int64_t wrong = 0;
  for (int i = 0; i < 500; ++i) {
    EXPECT_OK(launch(k, s, out));
    EXPECT_OK(tsrStreamSynchronize(s));
    wrong += *out;
  }
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(after, FE_UPWARD);
}

#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // tsan cannot start threads after a fork

/// Returns the status of `body` in a child process, which has one thread and its parent's code; 99 if it
/// hangs.
int inChild(const std::function<int()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int threadCount() {
  int count = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

bool useCore(int index) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && index-- == 0) CPU_SET(cpu, &one);
  return CPU_COUNT(&one) == 1 && sched_setaffinity(0, sizeof one, &one) == 0;
}

class CallersInChild : public Callers {
protected:
  /// Makes the context and the stream of the child.
  bool begin() {
    tsr_context_t own = nullptr;
    if (tsrCreateContext(&own) != TSR_SUCCESS) return false;
    context = own;
    void *p = nullptr;
    if (tsrAlloc(context, 64, TSR_MEM_DEVICE, &p) != TSR_SUCCESS) return false;
    out = static_cast<int64_t *>(p);
    return tsrCreateStream(context, &s) == TSR_SUCCESS;
  }
  bool call(tsr_kernel_t k, int times) {
    bool good = true;
    for (int i = 0; i < times; ++i)
      good = good && launch(k, s, out) == TSR_SUCCESS && tsrStreamSynchronize(s) == TSR_SUCCESS;
    return good;
  }
};

TEST_F(CallersInChild, LeaveNoThreadAfterAThousandShortCalls) {
  EXPECT_EQ(inChild([&] {
              if (threadCount() != 1 || !begin() || !call(image("count"), 1000)) return 1;
              // The first call may have started the stream's thread, which ends when it has nothing to do.
              for (int i = 0; i < 400 && threadCount() > 1; ++i)
                usleep(50'000);
              if (threadCount() != 1) return 2;
              return call(image("count"), 10) ? 0 : 3; // and it starts again
            }),
            0);
}

TEST_F(CallersInChild, RunEveryProgramOnOneCore) {
  EXPECT_EQ(inChild([&] {
              if (!useCore(0) || !begin()) return 1;
              if (!call(image("count", "launch: {axes: ['64'], may_wait: false}"), 200)) return 2;
              usleep(150'000);
              return cpu::coreCount() == 1 ? 0 : 3;
            }),
            0);
}

TEST_F(CallersInChild, NoticeThatTheirCoresChange) {
  EXPECT_EQ(inChild([&] {
              cpu_set_t before;
              if (sched_getaffinity(0, sizeof before, &before) != 0 || !begin()) return 1;
              auto k = image("count", "launch: {axes: ['64'], may_wait: false}");
              const int all = cpu::coreCount();
              if (!call(k, 50) || !useCore(0)) return 2;
              usleep(150'000);
              if (cpu::coreCount() != 1 || !call(k, 50)) return 3;
              if (sched_setaffinity(0, sizeof before, &before) != 0) return 4;
              usleep(150'000);
              return cpu::coreCount() == all && call(k, 50) ? 0 : 5;
            }),
            0);
}
#endif

TEST(Cores, AreTheWholeOnesOfTheSmallestQuota) {
  const auto root = std::filesystem::temp_directory_path() / ("tessera-quota-" + std::to_string(getpid()));
  std::filesystem::create_directories(root / "a/b");
  auto write = [&](const char *path, const char *text) {
    std::ofstream file(root / path);
    file << text;
  };
  auto limit = [&] { return cpu::groupCoreLimit(root.string(), "/a/b"); };
  EXPECT_EQ(limit(), INT32_MAX);
  write("a/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), INT32_MAX);
  write("a/cpu.max", "390000 100000\n");
  EXPECT_EQ(limit(), 3);
  write("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1);
  write("a/b/cpu.max", "50000 100000\n"); // below one core
  EXPECT_EQ(limit(), 1);
  std::filesystem::remove_all(root);
}

} // namespace
