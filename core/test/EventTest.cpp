#include "core/test/Support.h"

using namespace tessera::test;

namespace {

using Events = RuntimeTest;

TEST_F(Events, OrderStreams) {
  auto a = stream(), b = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  auto e = event();
  auto *held = holdStream(a);
  ASSERT_OK(launch(k, a, word, int32_t{1}));
  ASSERT_OK(tsrEventRecord(e, a));
  ASSERT_OK(tsrStreamWaitEvent(b, e));
  ASSERT_OK(launch(k, b, word, int32_t{2}));
  EXPECT_EQ(tsrEventQuery(e), TSR_NOT_READY);
  EXPECT_EQ(tsrStreamQuery(b), TSR_NOT_READY);
  open(held);
  ASSERT_OK(tsrStreamSynchronize(b));
  EXPECT_EQ(*word, 12);
  EXPECT_EQ(tsrEventQuery(e), TSR_SUCCESS);
}

TEST_F(Events, AWaitKeepsThePointAtItsCall) {
  auto a = stream(), b = stream(), c = stream();
  auto e = event();
  ASSERT_OK(tsrEventRecord(e, a));
  ASSERT_OK(tsrStreamWaitEvent(b, e));
  auto *held = holdStream(c);
  ASSERT_OK(tsrEventRecord(e, c)); // moves the event; b waits for its old point
  EXPECT_OK(tsrStreamSynchronize(b));
  EXPECT_EQ(tsrEventQuery(e), TSR_NOT_READY);
  open(held);
  EXPECT_OK(tsrEventSynchronize(e));
  EXPECT_EQ(tsrEventQuery(e), TSR_SUCCESS);
}

TEST_F(Events, NeverRecordedBlocksNothing) {
  auto s = stream();
  auto e = event();
  EXPECT_EQ(tsrEventQuery(e), TSR_SUCCESS);
  EXPECT_OK(tsrEventSynchronize(e));
  EXPECT_OK(tsrStreamWaitEvent(s, e));
  EXPECT_OK(tsrStreamSynchronize(s));
}

TEST_F(Events, MayBeDestroyedWhileWaitedFor) {
  auto a = stream(), b = stream();
  auto e = event();
  auto *held = holdStream(a);
  ASSERT_OK(tsrEventRecord(e, a));
  ASSERT_OK(tsrStreamWaitEvent(b, e));
  ASSERT_OK(tsrDestroyEvent(e));
  EXPECT_EQ(tsrDestroyEvent(e), TSR_EINVAL);
  EXPECT_EQ(tsrStreamQuery(b), TSR_NOT_READY);
  open(held);
  EXPECT_OK(tsrStreamSynchronize(b));
}

TEST_F(Events, ElapsedTime) {
  auto s = stream();
  auto start = event(), end = event();
  double ms = -1;
  EXPECT_EQ(tsrEventElapsedMs(start, end, &ms), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("start was never recorded"));
  ASSERT_OK(tsrEventRecord(start, s));
  EXPECT_OK(tsrEventSynchronize(start));
  EXPECT_EQ(tsrEventElapsedMs(start, end, &ms), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("end was never recorded"));
  auto *held = holdStream(s);
  ASSERT_OK(tsrEventRecord(end, s));
  EXPECT_EQ(tsrEventElapsedMs(start, end, &ms), TSR_NOT_READY);
  EXPECT_EQ(ms, -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  open(held);
  ASSERT_OK(tsrEventSynchronize(end));
  ASSERT_OK(tsrEventElapsedMs(start, end, &ms));
  EXPECT_GE(ms, 5.0);
  double back = 0;
  ASSERT_OK(tsrEventElapsedMs(end, start, &back));
  EXPECT_EQ(back, -ms);
}

TEST_F(Events, RecordOnTheDefaultStream) {
  auto e = event();
  auto *held = holdStream(nullptr);
  ASSERT_OK(tsrEventRecord(e, nullptr));
  EXPECT_EQ(tsrEventQuery(e), TSR_NOT_READY);
  open(held);
  EXPECT_OK(tsrEventSynchronize(e));
}

TEST_F(Events, Arguments) {
  auto s = stream();
  auto e = event();
  double ms;
  EXPECT_EQ(tsrCreateEvent(nullptr, &e), TSR_EINVAL);
  EXPECT_EQ(tsrCreateEvent(context, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrDestroyEvent(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrEventRecord(nullptr, s), TSR_EINVAL);
  EXPECT_EQ(tsrStreamWaitEvent(s, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrEventSynchronize(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrEventQuery(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrEventElapsedMs(nullptr, e, &ms), TSR_EINVAL);
  EXPECT_EQ(tsrEventElapsedMs(e, nullptr, &ms), TSR_EINVAL);
  EXPECT_EQ(tsrEventElapsedMs(e, e, nullptr), TSR_EINVAL);

  tsr_context_t other = nullptr;
  tsr_stream_t foreign = nullptr;
  tsr_event_t foreignEvent = nullptr;
  ASSERT_OK(tsrCreateContext(&other));
  ASSERT_OK(tsrGetDefaultStream(other, &foreign));
  ASSERT_OK(tsrCreateEvent(other, &foreignEvent));
  EXPECT_EQ(tsrEventRecord(e, foreign), TSR_EINVAL);
  EXPECT_EQ(tsrStreamWaitEvent(foreign, e), TSR_EINVAL);
  EXPECT_EQ(tsrEventElapsedMs(e, foreignEvent, &ms), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("different contexts"));
  ASSERT_OK(tsrDestroyContext(other));
}

} // namespace
