// Capture and replay.
#include "core/test/Support.h"

using namespace tessera;
using namespace tessera::test;

namespace {

struct Graphs : RuntimeTest {
  /// Captures what `queue` queues on `s` and returns the graph.
  template <class Queue> tsr_graph_t capture(tsr_stream_t s, Queue queue) {
    tsr_graph_t g = nullptr;
    EXPECT_OK(tsrStreamBeginCapture(s));
    queue();
    EXPECT_OK(tsrStreamEndCapture(s, &g));
    return g;
  }
  tsr_graph_info_t info(tsr_graph_t g) {
    tsr_graph_info_t out{};
    out.struct_size = sizeof out;
    EXPECT_OK(tsrGraphInfo(g, &out));
    return out;
  }
  bool capturing(tsr_stream_t s) {
    int32_t out = -1;
    EXPECT_OK(tsrStreamIsCapturing(s, &out));
    return out == 1;
  }
};

TEST_F(Graphs, NothingRunsUntilReplayedAndThenInOrder) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  int32_t value = 1;
  EXPECT_FALSE(capturing(s));
  tsr_graph_t g = capture(s, [&] {
    EXPECT_TRUE(capturing(s));
    void *args[] = {&word, &value};
    for (value = 1; value <= 4; ++value) // values are read at capture, not at replay
      ASSERT_OK(tsrLaunch(k, s, kFromMetadata, args, 2));
  });
  EXPECT_FALSE(capturing(s));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 0);
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(launch(k, s, word, int32_t{9}));
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 123491234);
}

TEST_F(Graphs, HoldCopiesFillsAndEvents) {
  auto s = stream();
  auto e = event();
  char *a = alloc<char>(8, 'x'), *b = alloc<char>(8, 'x');
  char in[8] = "capture", out[8] = {};
  tsr_graph_t g = capture(s, [&] {
    ASSERT_OK(tsrMemsetAsync(context, a, 0, 8, s));
    ASSERT_OK(tsrMemcpyH2DAsync(context, a, in, 7, s));
    ASSERT_OK(tsrMemcpyD2DAsync(context, b, a, 8, s));
    ASSERT_OK(tsrMemcpyD2HAsync(context, out, b, 8, s));
    ASSERT_OK(tsrEventRecord(e, s));
    ASSERT_OK(tsrStreamWaitEvent(s, e));
  });
  tsr_graph_info_t counts = info(g);
  EXPECT_EQ(counts.nodes, 6u);
  EXPECT_EQ(counts.copies, 3u);
  EXPECT_EQ(counts.fills, 1u);
  EXPECT_EQ(counts.launches, 0u);
  EXPECT_EQ(counts.event_records, 1u);
  EXPECT_EQ(counts.event_waits, 1u);
  EXPECT_EQ(b[0], 'x');
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrEventSynchronize(e));
  EXPECT_STREQ(out, "capture");
  std::memcpy(in, "replays", 7); // memory is read at replay
  ASSERT_OK(tsrGraphLaunch(g, nullptr));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_STREQ(out, "replays");
}

TEST_F(Graphs, WaitingCallsAreRefusedAndTheCaptureContinues) {
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  char host[8] = {};
  tsr_graph_t g = nullptr;
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(launch(k, s, word, int32_t{5}));
  auto refused = [](tsr_status_t status) {
    EXPECT_EQ(status, TSR_EINVAL);
    EXPECT_TRUE(lastErrorHas("the stream is being captured"));
  };
  refused(tsrStreamBeginCapture(s));
  refused(tsrStreamSynchronize(s));
  refused(tsrStreamSynchronizeFor(s, 0));
  refused(tsrStreamQuery(s));
  refused(tsrSynchronize(context));
  refused(tsrMemcpyH2D(context, word, host, 8));
  refused(tsrMemcpyD2H(context, host, word, 8));
  refused(tsrMemcpyD2D(context, word, word, 8));
  refused(tsrMemset(context, word, 0, 8));
  EXPECT_EQ(launch(k, s, static_cast<void *>(nullptr), int32_t{5}), TSR_EINVAL);
  EXPECT_EQ(tsrStreamEndCapture(s, nullptr), TSR_EINVAL);
  void *p = nullptr; // allocations are not captured
  ASSERT_OK(tsrAlloc(context, 64, TSR_MEM_DEVICE, &p));
  ASSERT_OK(tsrFree(context, p));
  ASSERT_OK(tsrStreamEndCapture(s, &g));
  EXPECT_EQ(info(g).nodes, 1u);
  EXPECT_EQ(tsrStreamEndCapture(s, &g), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("call tsrStreamBeginCapture first"));
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(*word, 5);
}

TEST_F(Graphs, EarlierWorkRunsDuringACapture) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  auto *gate = holdStream(s);
  ASSERT_OK(launch(k, s, word, int32_t{1}));
  tsr_graph_t g = capture(s, [&] { ASSERT_OK(launch(k, s, word, int32_t{2})); });
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrDestroyGraph(g)); // while its replay is queued
  EXPECT_EQ(*word, 0);
  open(gate);
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 12);
}

TEST_F(Graphs, OutliveTheirModule) {
  auto code = std::make_shared<int>(0);
  tsr_module_t m = module({compiled(kDigitYaml, digit, code)});
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrGetKernel(m, nullptr, &k));
  auto s = stream();
  auto *word = alloc<int64_t>(1);
  tsr_graph_t g = capture(s, [&] { ASSERT_OK(launch(k, s, word, int32_t{7})); });
  ASSERT_OK(tsrUnloadModule(m));
  EXPECT_GT(code.use_count(), 1);
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 7);
  ASSERT_OK(tsrDestroyGraph(g));
  EXPECT_EQ(code.use_count(), 1);
}

TEST_F(Graphs, EventsOrderReplaysWithOtherStreams) {
  auto s = stream(), t = stream();
  auto done = event(), go = event();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  tsr_graph_t g = capture(s, [&] {
    ASSERT_OK(tsrStreamWaitEvent(s, go));
    ASSERT_OK(launch(k, s, word, int32_t{2}));
    ASSERT_OK(tsrEventRecord(done, s));
  });
  EXPECT_OK(tsrEventQuery(done)); // never recorded
  for (int32_t turn : {1, 3}) {
    auto *gate = holdStream(t);
    ASSERT_OK(launch(k, t, word, turn));
    ASSERT_OK(tsrEventRecord(go, t));
    ASSERT_OK(tsrGraphLaunch(g, s));
    EXPECT_EQ(tsrEventQuery(done), TSR_NOT_READY);
    open(gate);
    ASSERT_OK(tsrEventSynchronize(done));
  }
  EXPECT_EQ(*word, 1232);
}

TEST_F(Graphs, CanBeNested) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  tsr_graph_t inner = capture(s, [&] { ASSERT_OK(launch(k, s, word, int32_t{2})); });
  tsr_graph_t outer = capture(s, [&] {
    ASSERT_OK(launch(k, s, word, int32_t{1}));
    ASSERT_OK(tsrGraphLaunch(inner, s));
    ASSERT_OK(tsrGraphLaunch(inner, s));
  });
  ASSERT_OK(tsrDestroyGraph(inner));
  EXPECT_EQ(info(outer).launches, 3u);
  ASSERT_OK(tsrGraphLaunch(outer, s));
  ASSERT_OK(tsrStreamSynchronize(s));
  EXPECT_EQ(*word, 122);
}

TEST_F(Graphs, FailuresDropTheRestButNotTheEvents) {
  auto s = stream();
  auto e = event();
  auto bad = kernel(kGreedyYaml, saxpy), good = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  tsr_graph_t g = capture(s, [&] {
    ASSERT_OK(launch(good, s, word, int32_t{1}));
    ASSERT_OK(launch(bad, s));
    ASSERT_OK(launch(good, s, word, int32_t{2}));
    ASSERT_OK(tsrMemsetAsync(context, word, 0xFF, 8, s));
    ASSERT_OK(tsrEventRecord(e, s));
  });
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrEventSynchronize(e));
  EXPECT_EQ(tsrStreamSynchronize(s), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("kernel greedy"));
  EXPECT_EQ(*word, 1);
  auto *gate = holdStream(s);
  ASSERT_OK(launch(bad, s));
  ASSERT_OK(tsrEventRecord(e, s));
  open(gate);
  ASSERT_OK(tsrEventSynchronize(e)); // a failure before the capture is returned when it begins
  EXPECT_EQ(tsrStreamBeginCapture(s), TSR_EOOM);
  EXPECT_FALSE(capturing(s));
}

TEST_F(Graphs, ReplayConcurrently) {
  auto k = kernel(kSaxpyYaml, saxpy);
  auto *x = alloc<float>(256, 1.0f), *y = alloc<float>(256, 0.0f);
  auto s = stream();
  tsr_graph_t g = capture(s, [&] {
    for (int i = 0; i < 5; ++i)
      ASSERT_OK(launch(k, s, x, y, 1.0f, int64_t{256}));
  });
  auto turn = event(); // the replays write one buffer, so they must be ordered
  std::mutex order;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto own = stream();
      for (int i = 0; i < 50; ++i) {
        std::lock_guard lock(order);
        ASSERT_OK(tsrStreamWaitEvent(own, turn));
        ASSERT_OK(tsrGraphLaunch(g, own));
        ASSERT_OK(tsrEventRecord(turn, own));
      }
      ASSERT_OK(tsrDestroyStream(own));
    });
  for (auto &t : threads)
    t.join();
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(y[i], 1000.0f);
}

/// Adds 1 to the word, slowly enough that concurrent runs would lose increments.
void slowIncrement(const uint64_t *v, int64_t, int64_t, uint8_t *) {
  auto *word = reinterpret_cast<std::atomic<int64_t> *>(v[0]);
  int64_t seen = word->load(std::memory_order_relaxed);
  std::this_thread::yield();
  word->store(seen + 1, std::memory_order_relaxed);
}

TEST_F(Graphs, WithTheirOwnMemoryAreSerialized) {
  auto k = kernel(kDigitYaml, slowIncrement);
  auto s = stream();
  auto *word = alloc<int64_t>(1);
  auto memory = std::make_shared<int>(0); // represents a function's workspace
  StreamObject *object = nullptr;
  ASSERT_OK(resolve(s, object));
  EXPECT_FALSE(object->device->append({{}, {memory}}));
  tsr_graph_t inner = capture(s, [&] {
    ASSERT_OK(launch(k, s, word, int32_t{0}));
    EXPECT_TRUE(object->device->append({{}, {memory}}));
  });
  tsr_graph_t outer = capture(s, [&] { ASSERT_OK(tsrGraphLaunch(inner, s)); });
  EXPECT_EQ(info(inner).nodes, 1u); // only captured nodes, not those that serialize replays
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto own = stream();
      for (int i = 0; i < 200; ++i)
        ASSERT_OK(tsrGraphLaunch((t + i) % 2 ? inner : outer, own));
      ASSERT_OK(tsrDestroyStream(own));
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(*word, 800);
  EXPECT_GE(memory.use_count(), 3); // both graphs hold it, on both sides of the plugin interface
  ASSERT_OK(tsrDestroyGraph(inner));
  ASSERT_OK(tsrDestroyGraph(outer));
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_F(Graphs, MayBeEmpty) {
  auto s = stream();
  tsr_graph_t g = capture(s, [] {});
  EXPECT_EQ(info(g).nodes, 0u);
  ASSERT_OK(tsrGraphLaunch(g, s));
  ASSERT_OK(tsrStreamSynchronize(s));
}

TEST_F(Graphs, StreamsAndContextsEndDuringACapture) {
  auto s = stream();
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(launch(k, s, word, int32_t{1}));
  ASSERT_OK(tsrDestroyStream(s));
  EXPECT_EQ(*word, 0);
  s = stream();
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(launch(k, s, word, int32_t{1}));
  ASSERT_OK(tsrDestroyContext(context));
  context = nullptr;
}

TEST_F(Graphs, BelongToTheirContext) {
  auto s = stream();
  tsr_graph_t g = capture(s, [] {});
  tsr_context_t other = nullptr;
  tsr_stream_t theirs = nullptr;
  ASSERT_OK(tsrCreateContext(&other));
  ASSERT_OK(tsrCreateStream(other, &theirs));
  EXPECT_EQ(tsrGraphLaunch(g, theirs), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("another context"));
  ASSERT_OK(tsrDestroyContext(other));
  ASSERT_OK(tsrDestroyGraph(g));
  EXPECT_EQ(tsrGraphLaunch(g, s), TSR_EINVAL);
  EXPECT_EQ(tsrDestroyGraph(g), TSR_EINVAL);
}

struct LaunchExTest : Graphs {
  tsr_launch_ex_t with(std::vector<void *> &args) {
    tsr_launch_ex_t l{};
    l.struct_size = sizeof l;
    l.args = args.data();
    l.nargs = args.size();
    return l;
  }
};

TEST_F(LaunchExTest, LaunchesAndNamesItsErrors) {
  auto k = kernel(kDigitYaml, digit);
  auto *word = alloc<int64_t>(1);
  int32_t value = 8;
  std::vector<void *> args = {&word, &value};
  tsr_launch_ex_t l = with(args);
  ASSERT_OK(tsrLaunchEx(k, nullptr, &l));
  l.geometry = {1, 1, 1, 1, 1, 1, 0};
  ASSERT_OK(tsrLaunchEx(k, nullptr, &l));
  ASSERT_OK(tsrSynchronize(context));
  EXPECT_EQ(*word, 88);
  l.label = "second layer";
  l.nargs = 1;
  EXPECT_EQ(tsrLaunchEx(k, nullptr, &l), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("second layer: kernel digit: the kernel takes 2 arguments, found 1"));
  l.flags = 1;
  EXPECT_EQ(tsrLaunchEx(k, nullptr, &l), TSR_UNIMPLEMENTED);
  EXPECT_EQ(tsrLaunchEx(k, nullptr, nullptr), TSR_EINVAL);
  l.struct_size = 0;
  EXPECT_EQ(tsrLaunchEx(k, nullptr, &l), TSR_EINVAL);
}

} // namespace
