#include "core/test/Support.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::test;

namespace {

using Streams = RuntimeTest;

TEST_F(Streams, WorkRunsInOrder) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  auto *held = holdStream(s);
  for (int32_t i = 1; i <= 9; ++i)
    ASSERT_OK(launch(k, s, word, i));
  EXPECT_EQ(*word, 0);
  open(held);
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 123456789);
}

TEST_F(Streams, ManyCommandsKeepTheirOrder) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *words = alloc<int64_t>(2000);
  for (int32_t i = 0; i < 2000; ++i)
    for (int32_t d : {1, 2, 3})
      ASSERT_OK(launch(k, s, words + i, d));
  ASSERT_OK(tsrStreamSynchronize(s));
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(words[i], 123);
}

TEST_F(Streams, AreIndependentOfEachOther) {
  auto a = stream(), b = stream();
  auto *held = holdStream(a);
  auto *word = alloc<int64_t>(1);
  auto k = kernel(kDigitYaml, digit);
  ASSERT_OK(launch(k, b, word, int32_t{7}));
  ASSERT_OK(tsrStreamSynchronize(b));
  EXPECT_EQ(*word, 7);
  ASSERT_OK(launch(k, nullptr, word, int32_t{8})); // also on the default stream
  tsr_stream_t standard = nullptr;
  ASSERT_OK(tsrGetDefaultStream(context, &standard));
  ASSERT_OK(tsrStreamSynchronize(standard));
  EXPECT_EQ(*word, 78);
  EXPECT_EQ(tsrStreamQuery(a), TSR_NOT_READY);
  open(held);
}

TEST_F(Streams, QueryAndTimeout) {
  auto s = stream();
  EXPECT_EQ(tsrStreamQuery(s), TSR_SUCCESS);
  EXPECT_OK(tsrStreamSynchronizeFor(s, 0));
  auto *held = holdStream(s);
  EXPECT_EQ(tsrStreamQuery(s), TSR_NOT_READY);
  EXPECT_EQ(tsrStreamSynchronizeFor(s, 0), TSR_ETIMEOUT);
  EXPECT_EQ(tsrStreamSynchronizeFor(s, 1000000), TSR_ETIMEOUT);
  EXPECT_TRUE(lastErrorHas("still busy"));
  open(held);
  EXPECT_OK(tsrStreamSynchronizeFor(s, UINT64_MAX));
  EXPECT_EQ(tsrStreamQuery(s), TSR_SUCCESS);
}

TEST_F(Streams, AFailureIsReturnedOnceAndDropsLaterWork) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit), bad = kernel(kGreedyYaml, digit);
  auto *word = alloc<int64_t>(1);
  auto *held = holdStream(s);
  ASSERT_OK(launch(k, s, word, int32_t{1}));
  ASSERT_OK(launch(bad, s));
  ASSERT_OK(launch(k, s, word, int32_t{2}));
  open(held);
  EXPECT_EQ(tsrStreamSynchronize(s), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("greedy"));
  EXPECT_EQ(*word, 1);
  EXPECT_OK(tsrStreamSynchronize(s));
  ASSERT_OK(launch(k, s, word, int32_t{3}));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 13);
}

TEST_F(Streams, AFailureIsReturnedByTheNextCall) {
  auto bad = kernel(kGreedyYaml, digit), k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  auto failed = [&] {
    tsr_stream_t s = stream();
    EXPECT_OK(launch(bad, s));
    EXPECT_OK(tsrFree(context, alloc<char>(1))); // waits for every stream and leaves failures alone
    return s;
  };
  EXPECT_EQ(launch(k, failed(), word, int32_t{1}), TSR_EOOM);
  EXPECT_EQ(tsrMemsetAsync(context, word, 0, 8, failed()), TSR_EOOM);
  EXPECT_EQ(tsrMemcpyD2DAsync(context, word, word, 8, failed()), TSR_EOOM);
  EXPECT_EQ(tsrEventRecord(event(), failed()), TSR_EOOM);
  EXPECT_EQ(tsrStreamWaitEvent(failed(), event()), TSR_EOOM);
  EXPECT_EQ(tsrStreamQuery(failed()), TSR_EOOM);
  EXPECT_EQ(tsrDestroyStream(failed()), TSR_EOOM);
  failed();
  EXPECT_EQ(tsrSynchronize(context), TSR_EOOM);
  EXPECT_OK(tsrSynchronize(context));
  EXPECT_EQ(*word, 0);
}

TEST_F(Streams, RecordsTakeEffectAfterAFailure) {
  auto a = stream(), b = stream();
  auto e = event();
  auto *word = alloc<int64_t>(1);
  auto *held = holdStream(a);
  ASSERT_OK(launch(kernel(kGreedyYaml, digit), a));
  ASSERT_OK(tsrEventRecord(e, a));
  ASSERT_OK(tsrStreamWaitEvent(b, e));
  ASSERT_OK(launch(kernel(kDigitYaml, digit), b, word, int32_t{5}));
  open(held);
  ASSERT_OK(tsrStreamSynchronize(b));
  EXPECT_EQ(*word, 5);
  EXPECT_EQ(tsrStreamSynchronize(a), TSR_EOOM);
}

// Another thread may receive the failure, but a copy that was dropped still returns an error.
TEST_F(Streams, ABlockingCopyThatWasDroppedFails) {
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  auto gate = stream();
  auto opened = event();
  auto *word = alloc<int64_t>(1);
  auto *held = holdStream(s), *gateHeld = holdStream(gate);
  ASSERT_OK(tsrEventRecord(opened, gate));
  ASSERT_OK(launch(kernel(kGreedyYaml, digit), s));
  ASSERT_OK(tsrStreamWaitEvent(s, opened)); // blocks the stream after the failure, until that is returned
  std::atomic<int> queued{0};
  int64_t host = 7;
  tsr_status_t copied = TSR_SUCCESS, filled = TSR_SUCCESS;
  std::thread copier([&] {
    ++queued;
    copied = tsrMemcpyD2H(context, &host, word, 8);
    EXPECT_TRUE(copied == TSR_SUCCESS || lastErrorHas("greedy"));
  });
  std::thread filler([&] {
    ++queued;
    filled = tsrMemset(context, word, 1, 8);
    EXPECT_TRUE(filled == TSR_SUCCESS || lastErrorHas("greedy"));
  });
  while (queued < 2)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // until both are queued, most likely
  open(held);
  while (tsrStreamQuery(s) == TSR_NOT_READY)
    std::this_thread::yield();
  open(gateHeld);
  copier.join();
  filler.join();
  EXPECT_EQ(copied == TSR_SUCCESS, host != 7); // a late one ran and returned success
  EXPECT_EQ(filled == TSR_SUCCESS, *word != 0);
  EXPECT_OK(tsrMemset(context, word, 0, 8));
}

// A signal for the process is handled by a thread of the program, never by one of the library's.
TEST_F(Streams, TheirThreadsBlockSignals) {
  static std::atomic<int> taken;
  taken = 0;
  auto s = stream();
  auto *held = holdStream(s);
  auto previous = std::signal(SIGUSR1, [](int) { ++taken; });
  sigset_t mask, before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  kill(getpid(), SIGUSR1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(taken, 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(taken, 1);
  std::signal(SIGUSR1, previous);
  open(held);
  ASSERT_OK(tsrStreamSynchronize(s));
}

#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // tsan cannot start threads after a fork
// The child of a fork has none of the threads: calls must fail instead of waiting forever.
TEST_F(Streams, AForkedChildCreatesItsOwn) {
  auto *word = alloc<char>(8);
  auto busy = stream();
  auto *held = holdStream(busy); // its work never ends in the child
  ASSERT_OK(tsrMemset(context, word, 1, 8));
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    tsr_context_t own = nullptr;
    void *p = nullptr;
    bool good =
        tsrMemset(context, word, 2, 8) == TSR_EDEVICE && lastErrorHas("make a new context in the child");
    good = good && tsrStreamSynchronize(busy) == TSR_EDEVICE && tsrStreamQuery(busy) == TSR_EDEVICE;
    good = good && tsrFree(context, word) == TSR_SUCCESS && tsrDestroyContext(context) == TSR_SUCCESS;
    good = good && tsrCreateContext(&own) == TSR_SUCCESS &&
           tsrAlloc(own, 8, TSR_MEM_DEVICE, &p) == TSR_SUCCESS && tsrMemset(own, p, 3, 8) == TSR_SUCCESS &&
           tsrDestroyContext(own) == TSR_SUCCESS;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  open(held);
  EXPECT_OK(tsrMemset(context, word, 4, 8));
}
#endif

TEST_F(Streams, DestroyWaitsForTheWork) {
  auto s = stream();
  auto *held = holdStream(s);
  auto *word = alloc<int64_t>(1);
  ASSERT_OK(launch(kernel(kDigitYaml, digit), s, word, int32_t{4}));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    open(held);
  });
  EXPECT_OK(tsrDestroyStream(s));
  EXPECT_EQ(*word, 4);
  opener.join();
  EXPECT_EQ(tsrDestroyStream(s), TSR_EINVAL);
  EXPECT_EQ(tsrStreamSynchronize(s), TSR_EINVAL);
}

TEST_F(Streams, Arguments) {
  tsr_stream_t s = nullptr;
  EXPECT_EQ(tsrCreateStream(nullptr, &s), TSR_EINVAL);
  EXPECT_EQ(tsrCreateStream(context, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetDefaultStream(nullptr, &s), TSR_EINVAL);
  EXPECT_EQ(tsrGetDefaultStream(context, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrDestroyStream(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrStreamSynchronize(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrStreamSynchronizeFor(nullptr, 1), TSR_EINVAL);
  EXPECT_EQ(tsrStreamQuery(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrSynchronize(nullptr), TSR_EINVAL);
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  EXPECT_EQ(tsrDestroyStream(s), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("default stream"));
  tsr_context_t other = nullptr;
  ASSERT_OK(tsrCreateContext(&other));
  char *p = alloc<char>(8);
  ASSERT_OK(tsrGetDefaultStream(other, &s));
  EXPECT_EQ(tsrMemsetAsync(context, p, 0, 8, s), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("another context"));
  ASSERT_OK(tsrDestroyContext(other));
}

} // namespace
