// Leaves out every optional slot of a backend once and checks the behaviour that plugin.h documents.
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

namespace {

class Absent : public FakeContextTest {
protected:
  /// A context on a backend whose table is modified by `remove`.
  template <class Remove> void without(Remove remove) {
    plugin.serve(backend);
    remove(plugin.backendTable());
    ASSERT_OK(plugin.add());
    ASSERT_OK(create());
    word = alloc();
  }
};

TEST_F(Absent, WithoutMemAvailableRangesAreNotChecked) {
  without([](tsr_backend_api_t &t) { t.mem_available = nullptr; });
  char host[16] = {}, elsewhere[16] = {};
  EXPECT_OK(tsrMemcpyH2D(context, elsewhere, host, sizeof host));
}

TEST_F(Absent, WithoutMemInfoTheTotalIsKnown) {
  without([](tsr_backend_api_t &t) { t.mem_info = nullptr; });
  tsr_memory_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_OK(tsrGetMemoryInfo(context, &info));
  EXPECT_EQ(info.total_bytes, 1u << 30);
  EXPECT_EQ(info.in_use_bytes, 0u);
}

TEST_F(Absent, WithoutMemTrimNothingIsTrimmed) {
  without([](tsr_backend_api_t &t) { t.mem_trim = nullptr; });
  EXPECT_OK(tsrTrimMemory(context));
}

TEST_F(Absent, WithoutStreamFillThereIsNoMemset) {
  without([](tsr_backend_api_t &t) { t.stream_fill = nullptr; });
  EXPECT_EQ(tsrMemset(context, word, 0, 8), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no memset"));
}

TEST_F(Absent, WithoutStreamDrainItSynchronizes) {
  backend.made->stream = [](MockDeviceStream &s) {
    EXPECT_CALL(s, drain).Times(0);
    EXPECT_CALL(s, synchronize(UINT64_MAX, _)).Times(testing::AtLeast(2)); // the context's end is one
  };
  without([](tsr_backend_api_t &t) { t.stream_drain = nullptr; });
  EXPECT_OK(tsrMemsetAsync(context, word, 0, 8, nullptr));
  EXPECT_OK(tsrFree(context, word));
}

TEST_F(Absent, WithoutStreamQueryItIsUnimplemented) {
  without([](tsr_backend_api_t &t) { t.stream_query = nullptr; });
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  EXPECT_EQ(tsrStreamQuery(s), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no stream query"));
}

TEST_F(Absent, WithoutStreamIsIdleWorkspacesStay) {
  without([](tsr_backend_api_t &t) { t.stream_is_idle = nullptr; });
  EXPECT_OK(tsrTrimMemory(context));
}

TEST_F(Absent, WithoutPeersAndRangesOtherCallsWork) {
  without([](tsr_backend_api_t &t) {
    t.peer_enable = nullptr;
    t.range_push = nullptr;
    t.range_pop = nullptr;
  });
  EXPECT_OK(launch(kernel(), 1));
}

TEST_F(Absent, WithoutMemFlagsMemAllocDecides) {
  backend.made->context = [](MockDeviceContext &c) {
    ON_CALL(c, memoryFlags).WillByDefault(Return(0));
    EXPECT_CALL(c, alloc).Times(testing::AnyNumber()); // from the context itself
    EXPECT_CALL(c, alloc(8, TSR_MEM_MANAGED, _, _));
  };
  without([](tsr_backend_api_t &t) { t.mem_flags = nullptr; });
  void *p = nullptr;
  EXPECT_OK(tsrAlloc(context, 8, TSR_MEM_MANAGED, &p));
}

TEST_F(Absent, WithoutStreamCallCollectivesAreNotQueued) {
  without([](tsr_backend_api_t &t) { t.stream_call = nullptr; });
  const tsr_comm_options_t o = {sizeof o, nullptr, "absent", 0, 1, 0};
  tsr_comm_t comm = nullptr;
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrCreateComm(&o, &comm));
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  int32_t word = 0;
  const tsr_collective_call_t call = {
      sizeof call, TSR_BROADCAST, TSR_DTYPE_I32, 0, 0, 1, &word, &word, nullptr, 0, nullptr, 0, 0};
  EXPECT_EQ(tsrCollectiveAsync(comm, &call, s), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no calls of the host in a stream's order"));
  EXPECT_OK(tsrCollective(comm, &call)); // nothing is queued
  EXPECT_OK(tsrDestroyComm(comm));
}

TEST_F(Absent, WithoutStreamNativeThereIsNoHandle) {
  without([](tsr_backend_api_t &t) { t.stream_native = nullptr; });
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  tsr_native_stream_t native{};
  native.struct_size = sizeof native;
  EXPECT_EQ(tsrStreamNative(s, &native), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no native handles of streams"));
}

TEST_F(Absent, WithoutTheirSlotsStreamsHaveNoOrderWithOthers) {
  without([](tsr_backend_api_t &t) { t.stream_wait_native = nullptr, t.native_wait_stream = nullptr; });
  tsr_stream_t s = nullptr;
  ASSERT_OK(tsrGetDefaultStream(context, &s));
  const tsr_native_stream_t native = {sizeof native, "cuda", nullptr};
  EXPECT_EQ(tsrStreamWaitNative(s, &native), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no order with streams of other libraries"));
  EXPECT_EQ(tsrNativeWaitStream(&native, s), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no order with streams of other libraries"));
}

TEST_F(Absent, WithoutActivityReportThereIsNoTrace) {
  const tsr_trace_options_t trace = {sizeof trace, [](void *, const tsr_trace_record_t *) {}, nullptr, 0};
  without([](tsr_backend_api_t &t) { t.activity_report = nullptr; });
  EXPECT_EQ(tsrTraceStart(&trace), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(
      lastErrorHas("a context on backend fake cannot be traced: the backend has no activity records"));
  EXPECT_EQ(tsrTraceStop(), TSR_EINVAL);
}

TEST_F(Absent, WithoutActivityTagsWorkHasNoCorrelation) {
  static std::vector<tsr_trace_record_t> records;
  const tsr_trace_options_t trace = {
      sizeof trace, [](void *, const tsr_trace_record_t *r) { records.push_back(*r); }, nullptr, 0};
  without([](tsr_backend_api_t &t) { t.activity_tag = nullptr; });
  ASSERT_OK(tsrTraceStart(&trace));
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  ASSERT_OK(tsrTraceStop());
  ASSERT_EQ(records.size(), 1u); // from the call; the fake itself reports nothing
  EXPECT_NE(records[0].correlation, 0u);
}

TEST_F(Absent, WithoutActivityReportThereAreNoRecords) {
  without([](tsr_backend_api_t &t) { t.activity_report = nullptr; });
  std::string why;
  EXPECT_EQ(lookup<ContextObject>(context)->device->reportActivities([](auto &) {}, why), TSR_UNIMPLEMENTED);
  EXPECT_EQ(why, "the backend has no activity records");
}

/// A table of an older minor version is shorter. The slots past its end are not read.
TEST_F(Absent, AShorterTableLacksTheSlotsPastItsEnd) {
  without([](tsr_backend_api_t &t) { t.struct_size = offsetof(tsr_backend_api_t, graph_create); });
  tsr_stream_t s = nullptr;
  tsr_graph_t graph = nullptr;
  tsr_kernel_t k = kernel();
  ASSERT_OK(tsrCreateStream(context, &s));
  ASSERT_OK(tsrStreamBeginCapture(s));
  EXPECT_OK(launch(k, 1, s));
  EXPECT_OK(tsrStreamEndCapture(s, &graph));
  EXPECT_OK(tsrGraphLaunch(graph, s));
}

/// Events and graphs need each of their slots.
struct Part {
  const char *name;
  void (*remove)(tsr_backend_api_t &);
};
#define PART(slot)                                                                                           \
  Part {                                                                                                     \
    #slot, [](tsr_backend_api_t &t) { t.slot = nullptr; }                                                    \
  }
std::string nameOf(const testing::TestParamInfo<Part> &info) { return info.param.name; }

class NoEvents : public Absent, public testing::WithParamInterface<Part> {};

TEST_P(NoEvents, AreUnimplemented) {
  without(GetParam().remove);
  tsr_event_t e = nullptr;
  EXPECT_EQ(tsrCreateEvent(context, &e), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("the backend has no events"));
}

INSTANTIATE_TEST_SUITE_P(Without, NoEvents,
                         testing::Values(PART(event_create), PART(event_destroy), PART(event_query),
                                         PART(event_synchronize), PART(event_timestamp), PART(stream_record),
                                         PART(stream_wait)),
                         nameOf);

class NoGraphs : public Absent, public testing::WithParamInterface<Part> {};

TEST_P(NoGraphs, AreQueuedNodeByNode) {
  backend.made->context = [](MockDeviceContext &c) { EXPECT_CALL(c, createGraph).Times(0); };
  backend.made->stream = [](MockDeviceStream &s) {
    EXPECT_CALL(s, replay).Times(0);
    EXPECT_CALL(s, launch).Times(testing::AnyNumber());
  };
  without(GetParam().remove);
  int runs = 0;
  backend.made->kernel = [&](MockDeviceKernel &k) {
    ON_CALL(k, run).WillByDefault([&](const uint64_t *, const LaunchGrid &) { ++runs; });
  };
  tsr_kernel_t k = kernel();
  tsr_stream_t s = nullptr;
  tsr_graph_t graph = nullptr;
  ASSERT_OK(tsrCreateStream(context, &s));
  ASSERT_OK(tsrStreamBeginCapture(s));
  EXPECT_OK(launch(k, 1, s));
  EXPECT_OK(launch(k, 2, s));
  ASSERT_OK(tsrStreamEndCapture(s, &graph));
  EXPECT_EQ(runs, 0);
  EXPECT_OK(tsrGraphLaunch(graph, s));
  EXPECT_EQ(runs, 2);
}

INSTANTIATE_TEST_SUITE_P(Without, NoGraphs,
                         testing::Values(PART(graph_create), PART(graph_launch), PART(graph_destroy)),
                         nameOf);

} // namespace
