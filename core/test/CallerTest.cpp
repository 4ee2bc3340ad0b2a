// Brief work on an idle CPU stream runs in the calling thread, with the order, the events and the
// floating-point modes of the stream.
#include "core/test/Fixture.h"
#include "core/test/Support.h"
#include <cfenv>
#include <pthread.h>

using namespace tessera;
using namespace tessera::test;

namespace {

class Callers : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    out = alloc<int64_t>(1);
    s = stream();
  }
  /// A compiled kernel of FixtureKernels.c whose metadata has `launch`.
  tsr_kernel_t image(const char *name, const char *launch = "launch: {may_wait: false}") {
    Bundle bundle;
    bundle.images = {fixtureImage("cpu:x86-64", {name})};
    std::string &metadata = bundle.images[0].entries[0].metadata;
    metadata.replace(metadata.find("launch: {}"), 10, launch);
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
  bool everHere(tsr_kernel_t k, int launches = 2000) {
    for (int i = 0; i < launches; ++i) {
      *out = 0;
      EXPECT_OK(launch(k, s, out));
      if (*static_cast<volatile int64_t *>(out) == self()) return true;
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
  EXPECT_FALSE(everHere(image("thread", "resources: {scratch_bytes: 1048577}, launch: {may_wait: false}")));
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
    copied |= *static_cast<volatile int64_t *>(out) == 7;
    EXPECT_OK(tsrMemsetAsync(context, out, 0, 8, s));
    filled |= copied && *static_cast<volatile int64_t *>(out) == 0;
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

} // namespace
