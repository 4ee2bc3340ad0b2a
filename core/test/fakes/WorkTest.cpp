// Checks how memory, streams, events, modules, launches and graphs reach a backend.
#include "core/metadata/Reports.h"
#include "core/test/fakes/FakeFixture.h"
#include <algorithm>
#include <array>

using namespace tessera;
using namespace tessera::test;
using testing::InSequence;

namespace {

class Work : public FakeContextTest {
protected:
  void SetUp() override {
    backend.made->context = [this](MockDeviceContext &c) { device = &c; };
    backend.made->stream = [this](MockDeviceStream &s) { stream = &s; };
    begin();
  }
  MockDeviceContext *device = nullptr;
  MockDeviceStream *stream = nullptr; // the last one created
};

TEST_F(Work, MemoryKeepsWhatIsCopied) {
  const std::array<int, 4> in = {1, 2, 3, 4};
  std::array<int, 4> out{};
  void *a = alloc(sizeof in), *b = alloc(sizeof in);
  EXPECT_CALL(*stream, copy(a, in.data(), sizeof in, true, _));
  EXPECT_CALL(*stream, copy(b, a, sizeof in, true, _));
  EXPECT_CALL(*stream, fill(b, 0xff, 4, true, _));
  EXPECT_CALL(*stream, copy(out.data(), b, sizeof in, true, _));
  EXPECT_OK(tsrMemcpyH2D(context, a, in.data(), sizeof in));
  EXPECT_OK(tsrMemcpyD2D(context, b, a, sizeof in));
  EXPECT_OK(tsrMemset(context, b, 0xff, 4));
  EXPECT_OK(tsrMemcpyD2H(context, out.data(), b, sizeof in));
  EXPECT_EQ(out, (std::array<int, 4>{-1, 2, 3, 4}));
}

TEST_F(Work, ABadRangeNeverReachesTheBackend) {
  char host[128];
  EXPECT_CALL(*stream, copy).Times(0);
  EXPECT_EQ(tsrMemcpyH2D(context, word, host, 65), TSR_EINVAL); // one byte too many
  EXPECT_EQ(tsrMemcpyH2D(context, host, host, 1), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("one live allocation"));
}

TEST_F(Work, MemoryRunsOut) {
  void *p = nullptr;
  EXPECT_EQ(tsrAlloc(context, size_t{1} << 40, TSR_MEM_DEVICE, &p), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("the fake device has"));
  tsr_memory_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_OK(tsrGetMemoryInfo(context, &info));
  EXPECT_EQ(info.in_use_bytes, 64u);
  EXPECT_OK(tsrFree(context, word));
  EXPECT_EQ(tsrFree(context, word), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("no allocation of the fake device"));
}

TEST_F(Work, FlagsAndAllocatorArePassedOn) {
  EXPECT_CALL(*device, alloc(8, TSR_MEM_MANAGED, _, _));
  void *p = nullptr;
  EXPECT_OK(tsrAlloc(context, 8, TSR_MEM_MANAGED, &p));

  int calls = 0;
  const tsr_allocator_t mine = {sizeof mine, &calls,
                                [](void *user, size_t bytes, size_t alignment) {
                                  ++*static_cast<int *>(user);
                                  return std::aligned_alloc(alignment, bytes);
                                },
                                [](void *user, void *ptr, size_t) {
                                  --*static_cast<int *>(user);
                                  std::free(ptr);
                                }};
  const tsr_context_options_t o = {sizeof o, "fake", 0, &mine};
  tsr_context_t other = nullptr;
  ASSERT_OK(tsrCreateContextEx(&o, &other));
  EXPECT_OK(tsrAlloc(other, 8, TSR_MEM_DEVICE, &p));
  EXPECT_EQ(calls, 1);
  EXPECT_OK(tsrDestroyContext(other)); // frees the remaining memory
  EXPECT_EQ(calls, 0);
}

TEST_F(Work, StreamsAreIndependent) {
  MockDeviceStream *standard = stream;
  tsr_stream_t s = nullptr;
  EXPECT_OK(tsrCreateStream(context, &s));
  ASSERT_NE(stream, standard);
  EXPECT_CALL(*standard, fill).Times(0);
  EXPECT_CALL(*stream, fill(word, 7, 8, false, _));
  EXPECT_OK(tsrMemsetAsync(context, word, 7, 8, s));
  EXPECT_CALL(*stream, query).WillOnce(Return(TSR_NOT_READY)).WillOnce(Return(TSR_SUCCESS));
  EXPECT_EQ(tsrStreamQuery(s), TSR_NOT_READY);
  EXPECT_OK(tsrStreamQuery(s));
  EXPECT_CALL(*stream, synchronize(12345, _)).WillOnce(Fail(TSR_ETIMEOUT, "it takes longer"));
  EXPECT_EQ(tsrStreamSynchronizeFor(s, 12345), TSR_ETIMEOUT);
  EXPECT_CALL(*stream, synchronize(UINT64_MAX, _)).WillRepeatedly(Return(TSR_SUCCESS));
  EXPECT_OK(tsrDestroyStream(s));
}

TEST_F(Work, DestroyingAContextReturnsAFailureOfQueuedWork) {
  EXPECT_CALL(*stream, synchronize(_, _)).WillOnce(Fail(TSR_EDEVICE, "page fault"));
  EXPECT_EQ(tsrDestroyContext(std::exchange(context, nullptr)), TSR_EDEVICE);
  EXPECT_TRUE(lastErrorHas("page fault"));
}

TEST_F(Work, EventsAreRecordedAndWaitedFor) {
  MockDeviceEvent *event = nullptr;
  backend.made->event = [&](MockDeviceEvent &e) { event = &e; };
  tsr_event_t e = nullptr, later = nullptr;
  EXPECT_OK(tsrCreateEvent(context, &later));
  EXPECT_OK(tsrCreateEvent(context, &e));
  double ms = -1;
  EXPECT_EQ(tsrEventElapsedMs(e, later, &ms), TSR_EINVAL); // never recorded
  InSequence inOrder;
  EXPECT_CALL(*stream, record);
  EXPECT_CALL(*stream, wait);
  EXPECT_CALL(*event, isDone()).WillOnce(Return(false));
  EXPECT_CALL(*event, wait());
  EXPECT_CALL(*stream, record);
  EXPECT_OK(tsrEventRecord(e, nullptr));
  EXPECT_OK(tsrStreamWaitEvent(nullptr, e));
  EXPECT_EQ(tsrEventQuery(e), TSR_NOT_READY);
  EXPECT_OK(tsrEventSynchronize(e));
  EXPECT_OK(tsrEventRecord(later, nullptr));
  EXPECT_OK(tsrEventElapsedMs(e, later, &ms));
  EXPECT_GE(ms, 0);
}

TEST_F(Work, AModuleGetsItsImageAndItsKernelsTheirMetadata) {
  EXPECT_CALL(*device, loadModule)
      .WillOnce([this](const ModuleImage &image, std::string &why) -> std::shared_ptr<DeviceModule> {
        EXPECT_EQ(image.format, uint32_t(TSR_IMAGE_PTX));
        EXPECT_EQ(std::string(static_cast<const char *>(image.data), image.bytes),
                  std::string(kImage, sizeof kImage));
        return make(backend.made->module, backend.made);
      });
  backend.made->kernel = [](MockDeviceKernel &k) {
    EXPECT_EQ(k.spec.name, entrySymbol("digit"));
    EXPECT_EQ(k.spec.metadata, kDigitYaml);
    EXPECT_EQ(k.spec.valueCount, 2u);
  };
  EXPECT_NE(kernel(), nullptr);
}

TEST_F(Work, ALaunchArrivesWithItsValuesAndGrid) {
  float *x = static_cast<float *>(alloc(256 * sizeof(float))), alpha = 2;
  int64_t n = 130;
  int runs = 0;
  backend.made->kernel = [&](MockDeviceKernel &k) {
    ON_CALL(k, run).WillByDefault([&](const uint64_t *values, const LaunchGrid &grid) {
      EXPECT_EQ(grid.programs(), 3); // of 64 elements each
      for (int64_t p = 0; p < grid.x; ++p)
        saxpy(values, p, p + 1, nullptr);
      ++runs;
    });
  };
  for (int i = 0; i < 256; ++i)
    x[i] = 1;
  float *y = static_cast<float *>(alloc(256 * sizeof(float)));
  EXPECT_OK(tsrMemset(context, y, 0, 256 * sizeof(float)));
  void *args[] = {&x, &y, &alpha, &n};
  EXPECT_OK(tsrLaunch(kernel(kSaxpyYaml), nullptr, kFromMetadata, args, 4));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(y[129], 2);
  EXPECT_EQ(y[130], 0);
}

TEST_F(Work, AKernelLivesUntilItsLaunchIsDone) {
  bool isGone = false;
  std::shared_ptr<DeviceKernel> queued; // held by a queue
  backend.made->kernel = [&](MockDeviceKernel &k) { k.onDestroy = [&] { isGone = true; }; };
  tsr_module_t module = nullptr;
  tsr_kernel_t k = nullptr;
  ASSERT_OK(load(module));
  ASSERT_OK(tsrGetKernel(module, nullptr, &k));
  EXPECT_CALL(*stream, launch).WillOnce([&](const auto &kernel, auto...) {
    queued = kernel;
    return TSR_SUCCESS;
  });
  EXPECT_OK(launch(k, 1));
  EXPECT_OK(tsrUnloadModule(module));
  EXPECT_FALSE(isGone);
  queued.reset();
  EXPECT_TRUE(isGone);
}

TEST_F(Work, AGraphIsPassedOnAndReplayed) {
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrCreateStream(context, &s));
  tsr_kernel_t k = kernel();
  EXPECT_CALL(*stream, launch).Times(0);
  EXPECT_CALL(*device, createGraph).WillOnce([](GraphWork work, std::string &) {
    EXPECT_EQ(work.nodes.size(), 2u);
    EXPECT_EQ(work.nodes.at(0).kind, GraphNode::Kind::Launch);
    EXPECT_EQ(work.nodes.at(0).values.at(1), 5u);
    EXPECT_EQ(work.nodes.at(1).kind, GraphNode::Kind::Fill);
    EXPECT_EQ(work.nodes.at(1).byte, 9);
    return std::make_shared<DeviceGraph>(std::move(work));
  });
  ASSERT_OK(tsrStreamBeginCapture(s));
  EXPECT_OK(launch(k, 5, s));
  EXPECT_OK(tsrMemsetAsync(context, word, 9, 8, s));
  tsr_graph_t graph = nullptr;
  ASSERT_OK(tsrStreamEndCapture(s, &graph));
  testing::Mock::VerifyAndClearExpectations(stream);
  EXPECT_CALL(*stream, replay).Times(2);
  EXPECT_CALL(*stream, launch).Times(2); // the default implementation queues node by node
  EXPECT_OK(tsrGraphLaunch(graph, s));
  EXPECT_OK(tsrGraphLaunch(graph, s));
}

TEST_F(Work, AKernelThatReportsGetsMemoryForIt) {
  constexpr const char *kYaml = R"yaml({name: digit, target: cpu, numerics: standard, params: [
    {name: word, kind: tensor, dtype: i64, dims: ["1"], access: readwrite},
    {name: digit, kind: scalar, dtype: i32}], launch: {},
    reports: [{kind: assert, of: program, at: "k.py:3", text: "no {}", values: [i32]}]})yaml";
  backend.made->kernel = [&](MockDeviceKernel &k) {
    EXPECT_EQ(k.spec.valueCount, 3u);
    EXPECT_EQ(k.spec.arguments.size(), 3u);
    ON_CALL(k, run).WillByDefault([&](const uint64_t *values, const LaunchGrid &) {
      auto *words = reinterpret_cast<int64_t *>(values[0]);
      EXPECT_EQ(words[0], 0);
      EXPECT_EQ(values[1], reinterpret_cast<uint64_t>(word));
      if (values[2] != 7) return;
      words[0] = 3, words[1] = 1;
      const int64_t record[] = {0, 0, 70};
      std::copy_n(record, 3, words + reports::kHeader);
    });
  };
  tsr_kernel_t k = kernel(kYaml);
  EXPECT_OK(launch(k, 5));
  EXPECT_EQ(launch(k, 7), TSR_EDEVICE);
  EXPECT_TRUE(lastErrorHas("[E_ASSERT] kernel digit: k.py:3: assertion failed in program 0: no 70"));
  EXPECT_OK(launch(k, 5)); // the stream has not failed
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrCreateStream(context, &s));
  ASSERT_OK(tsrStreamBeginCapture(s));
  EXPECT_EQ(launch(k, 5, s), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("kernel digit: a graph cannot have its print and assert_"));
}

} // namespace
