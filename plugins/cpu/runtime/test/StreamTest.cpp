// Brief launches, which mostly run in the caller without a look at the clock (docs/decisions/0147).
#include "plugins/cpu/runtime/Stream.h"
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace tessera::cpu {
namespace {

/// What launches of one program did and do. Not atomic, because a stream runs one launch at a time.
struct BriefWork {
  int64_t programs = 0;
  int64_t us = 0; // of each launch, as the contents of memory decide
  bool isInLaunch = false, wasEntered = false;
} briefWork;

void runBrief(const uint64_t *, int64_t begin, int64_t end, uint8_t *) {
  briefWork.wasEntered |= briefWork.isInLaunch;
  briefWork.isInLaunch = true;
  if (briefWork.us > 0) std::this_thread::sleep_for(std::chrono::microseconds(briefWork.us));
  briefWork.programs += end - begin;
  briefWork.isInLaunch = false;
}

void makeLong(const uint64_t *, int64_t, int64_t, uint8_t *) { briefWork.us = 200; }

class BriefLaunches : public testing::Test {
protected:
  BriefLaunches() { briefWork = {}; }

  static std::shared_ptr<Kernel> kernel(KernelFn entry, size_t scratchBytes = 0) {
    return std::make_shared<Kernel>(
        KernelSpec{.name = "brief", .scratchBytes = scratchBytes, .mayWait = false},
        reinterpret_cast<void *>(entry), nullptr);
  }
  tsr_status_t launch(const std::shared_ptr<Kernel> &k, int64_t programs = 1) {
    return stream.launch(k, nullptr, {programs}, why);
  }
  tsr_status_t synchronize() { return stream.synchronize(UINT64_MAX, why); }

  Activities activities;
  Stream stream{activities};
  std::string why;
  const std::shared_ptr<Kernel> brief = kernel(runBrief);
};

TEST_F(BriefLaunches, OfSeveralThreadsRunOneAfterTheOther) {
  constexpr int kThreads = 4, kLaunches = 400;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0}, disorders{0};
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      std::string text;
      int64_t last = 0;
      for (int j = 0; j < kLaunches; ++j) {
        // In the middle the work becomes long, which nothing but memory tells.
        if (i == 0 && j == kLaunches / 2)
          failures += stream.launch(kernel(makeLong), nullptr, {1}, text) != TSR_SUCCESS;
        failures += stream.launch(brief, nullptr, {1}, text) != TSR_SUCCESS;
        auto event = std::make_shared<Event>();
        failures += stream.record(event, text) != TSR_SUCCESS;
        if (j % 50 != 0) continue;
        event->wait();
        int64_t now = 0;
        failures += event->timestamp(now) != TSR_SUCCESS;
        disorders += now < last;
        last = now;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(synchronize(), TSR_SUCCESS);
  EXPECT_EQ(briefWork.programs, kThreads * kLaunches);
  EXPECT_FALSE(briefWork.wasEntered);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(disorders, 0);
}

TEST_F(BriefLaunches, HaveTimesInRecordsAndBetweenEvents) {
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(launch(brief), TSR_SUCCESS); // measured, so that the next ones need no clock
  ASSERT_EQ(synchronize(), TSR_SUCCESS);
  std::vector<std::pair<int64_t, int64_t>> spans;
  activities.setSink([&](const tsr_be_activity_t &a) { spans.emplace_back(a.begin_ns, a.end_ns); });
  briefWork.us = 100;
  std::vector<std::shared_ptr<Event>> events;
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(launch(brief), TSR_SUCCESS);
    ASSERT_EQ(stream.record(events.emplace_back(std::make_shared<Event>()), why), TSR_SUCCESS);
  }
  ASSERT_EQ(synchronize(), TSR_SUCCESS);
  activities.setSink({});
  ASSERT_EQ(spans.size(), 12u);
  int64_t end = 0, at = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_GE(spans[i].first, end) << i;
    EXPECT_GE(spans[i].second - spans[i].first, 100'000) << i;
    end = spans[i].second;
    int64_t time = 0;
    ASSERT_EQ(events[i]->timestamp(time), TSR_SUCCESS);
    EXPECT_GE(time, end) << i;
    if (i > 0) EXPECT_GE(time - at, 100'000) << i;
    at = time;
  }
}

TEST_F(BriefLaunches, BehindAFailureAreDropped) {
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(launch(brief), TSR_SUCCESS);
  ASSERT_EQ(synchronize(), TSR_SUCCESS);
  ASSERT_EQ(briefWork.programs, 40);
  // A thread cannot get so much memory.
  ASSERT_EQ(launch(kernel(runBrief, size_t{1} << 62)), TSR_SUCCESS);
  tsr_status_t reported = TSR_SUCCESS;
  for (int i = 0; i < 40 && reported == TSR_SUCCESS; ++i)
    reported = launch(brief);
  if (reported == TSR_SUCCESS) reported = synchronize();
  EXPECT_EQ(reported, TSR_EOOM);
  EXPECT_NE(why.find("scratch memory"), std::string::npos) << why;
  EXPECT_EQ(briefWork.programs, 40);
  ASSERT_EQ(synchronize(), TSR_SUCCESS);
  EXPECT_EQ(launch(brief), TSR_SUCCESS); // the failure was reported
  EXPECT_EQ(synchronize(), TSR_SUCCESS);
  EXPECT_EQ(briefWork.programs, 41);
}

} // namespace
} // namespace tessera::cpu
