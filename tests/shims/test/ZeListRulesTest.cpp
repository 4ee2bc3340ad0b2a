// The rules of Level Zero's shim for lists that are closed and executed by queues, each broken once.
#include "tests/shims/test/ZeRulesFixture.h"

namespace tessera::levelzero {
namespace {

class ZeLists : public ZeRules {
protected:
  void SetUp() override {
    ZeRules::SetUp();
    const QueueDescription ofQueue{{type::kQueue, nullptr}, 1, 0, 0, flag::kAsynchronous, 0};
    ASSERT_EQ(api.queueCreate(context, devices[0], &ofQueue, &queue), 0);
    const ListDescription ofList{{type::kList, nullptr}, 1, 0};
    ASSERT_EQ(api.listCreate(context, devices[0], &ofList, &closed), 0);
    other = newEvent(1);
  }
  void TearDown() override {
    EXPECT_EQ(api.queueDestroy(queue), 0);
    EXPECT_EQ(api.listDestroy(closed), 0);
    EXPECT_EQ(api.eventDestroy(other), 0);
    ZeRules::TearDown();
  }
  int fillLater(unsigned char byte) { return api.fill(closed, block, &byte, 1, 64, nullptr, 0, nullptr); }
  int execute() { return api.execute(queue, 1, &closed, nullptr); }
  /// The host waits for the event that the list signals.
  void await() { EXPECT_EQ(api.eventSynchronize(other, UINT64_MAX), 0); }

  Handle queue = nullptr, closed = nullptr, other = nullptr;
};

TEST_F(ZeLists, ExecuteWhatTheyRecordedEachTime) {
  ASSERT_EQ(fillLater(7), 0);
  ASSERT_EQ(api.barrier(closed, other, 0, nullptr), 0);
  ASSERT_EQ(api.listClose(closed), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(fill(block, 64, 1), 0);
    synchronize();
    ASSERT_EQ(execute(), 0);
    await();
    ASSERT_EQ(api.eventReset(other), 0);
    ASSERT_EQ(copy(host, block, 64), 0);
    synchronize();
    EXPECT_EQ(host[63], 7);
  }
  EXPECT_EQ(shim.breaches(), "");
}
TEST_F(ZeLists, AreClosedBeforeTheyAreExecuted) {
  EXPECT_NE(execute(), 0);
  broke("open-list");
  EXPECT_NE(api.listClose(list), 0); // immediate
  broke("closed-list");
  ASSERT_EQ(api.listClose(closed), 0);
  EXPECT_NE(fillLater(0), 0);
  broke("closed-list");
}
TEST_F(ZeLists, CommandsOnOneMemoryHaveABarrierBetween) {
  ASSERT_EQ(fillLater(1), 0);
  ASSERT_EQ(fillLater(2), 0);
  ASSERT_EQ(api.barrier(closed, other, 0, nullptr), 0);
  ASSERT_EQ(api.listClose(closed), 0);
  ASSERT_EQ(execute(), 0);
  broke("unordered");
  await();
}
TEST_F(ZeLists, EventsAreResetBetweenExecutions) {
  ASSERT_EQ(api.barrier(closed, other, 0, nullptr), 0);
  ASSERT_EQ(api.listClose(closed), 0);
  ASSERT_EQ(execute(), 0);
  await();
  EXPECT_NE(execute(), 0);
  broke("not-reset");
}
TEST_F(ZeLists, SomethingSignalsWhatIsAwaited) {
  Handle gate = newEvent(2);
  ASSERT_EQ(api.barrier(closed, nullptr, 1, &gate), 0);
  ASSERT_EQ(api.listClose(closed), 0);
  EXPECT_NE(execute(), 0); // before the barrier that signals it
  broke("never-signalled");
  ASSERT_EQ(api.eventDestroy(gate), 0);
}
TEST_F(ZeLists, AWaitBeforeIsEnoughForAReset) {
  ASSERT_EQ(fillLater(1), 0);
  ASSERT_EQ(api.barrier(closed, other, 0, nullptr), 0);
  ASSERT_EQ(api.listClose(closed), 0);
  ASSERT_EQ(execute(), 0);
  ASSERT_EQ(api.barrier(list, nullptr, 1, &other), 0);
  ASSERT_EQ(api.resetInOrder(list, other), 0); // after the wait
  synchronize();
  EXPECT_EQ(shim.breaches(), "");
}

} // namespace
} // namespace tessera::levelzero
