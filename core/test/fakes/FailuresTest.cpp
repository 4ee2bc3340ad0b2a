// Makes every slot that can fail do so: the program must receive its text, and the text of its exceptions.
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;
using testing::DoDefault;

namespace {

constexpr const char *kText = "the tape is torn";
const std::runtime_error kThrown(kText);

/// What a row may use: a context of the fake, and the objects made before the call.
struct World : FakeContextTest {
  void TestBody() override {}
  void use() {
    begin();
    k = kernel();
    EXPECT_OK(tsrCreateStream(context, &s));
    EXPECT_OK(tsrCreateEvent(context, &e));
  }
  tsr_graph_t graph() {
    tsr_graph_t g = nullptr;
    EXPECT_OK(tsrStreamBeginCapture(s));
    EXPECT_OK(launch(k, 1, s));
    status = tsrStreamEndCapture(s, &g);
    return g;
  }
  using FakeContextTest::alloc;
  using FakeContextTest::backend;
  using FakeContextTest::context;
  using FakeContextTest::launch;
  using FakeContextTest::load;
  using FakeContextTest::TearDown;
  using FakeContextTest::word;
  tsr_kernel_t k = nullptr;
  tsr_stream_t s = nullptr;
  tsr_event_t e = nullptr;
  tsr_status_t status = TSR_SUCCESS;
  MockDeviceContext *device = nullptr;
  MockDeviceStream *stream = nullptr; // the stream of s
  MockDeviceModule *module = nullptr;
};

struct Row {
  const char *slot;
  tsr_status_t status; // the status that the call must return
  std::function<void(World &)> fail,
      raise; // how the mock fails: by returning or by throwing; either may be null
  std::function<tsr_status_t(World &)> call;
  tsr_status_t thrown = TSR_EINTERNAL;
};

/// Rows for a method that returns a status.
#define STATUS(slot, object, method, ...)                                                                    \
  Row {                                                                                                      \
    slot, TSR_EIO,                                                                                           \
        [](World &w) {                                                                                       \
          EXPECT_CALL(*w.object, method).WillOnce(Fail(TSR_EIO, kText)).WillRepeatedly(DoDefault());         \
        },                                                                                                   \
        [](World &w) {                                                                                       \
          EXPECT_CALL(*w.object, method).WillOnce(Throw(kThrown)).WillRepeatedly(DoDefault());               \
        },                                                                                                   \
        [](World &w) -> tsr_status_t { return __VA_ARGS__; }                                                 \
  }
/// Rows for a method that creates an object.
#define MAKER(slot, object, method, status, ...)                                                             \
  Row {                                                                                                      \
    slot, status,                                                                                            \
        [](World &w) {                                                                                       \
          EXPECT_CALL(*w.object, method).WillOnce(MakeNothing(kText)).WillRepeatedly(DoDefault());           \
        },                                                                                                   \
        [](World &w) {                                                                                       \
          EXPECT_CALL(*w.object, method).WillOnce(Throw(kThrown)).WillRepeatedly(DoDefault());               \
        },                                                                                                   \
        [](World &w) -> tsr_status_t { return __VA_ARGS__; }, status                                         \
  }

const Row kRows[] = {
    STATUS("mem_alloc", device, alloc,
           [&] {
             void *p;
             return tsrAlloc(w.context, 8, TSR_MEM_DEVICE, &p);
           }()),
    STATUS("mem_free", device, free, tsrFree(w.context, w.word)),
    MAKER("stream_create", device, createStream, TSR_EDEVICE,
          [&] {
            tsr_stream_t out;
            return tsrCreateStream(w.context, &out);
          }()),
    STATUS("stream_copy", stream, copy, tsrMemcpyH2DAsync(w.context, w.word, &w, 8, w.s)),
    STATUS("stream_fill", stream, fill, tsrMemsetAsync(w.context, w.word, 1, 8, w.s)),
    STATUS("stream_launch", stream, launch, w.launch(w.k, 1, w.s)),
    STATUS("stream_record", stream, record, tsrEventRecord(w.e, w.s)),
    STATUS("stream_wait", stream, wait, tsrStreamWaitEvent(w.s, w.e)),
    STATUS("stream_synchronize", stream, synchronize, tsrStreamSynchronizeFor(w.s, 5)),
    STATUS("stream_query", stream, query, tsrStreamQuery(w.s)),
    STATUS("stream_native", stream, native,
           [&] {
             tsr_native_stream_t native{};
             native.struct_size = sizeof native;
             return tsrStreamNative(w.s, &native);
           }()),
    STATUS("stream_wait_native", stream, waitNative,
           [&] {
             const tsr_native_stream_t native = {sizeof native, "cuda", nullptr};
             return tsrStreamWaitNative(w.s, &native);
           }()),
    STATUS("native_wait_stream", stream, nativeWaits,
           [&] {
             const tsr_native_stream_t native = {sizeof native, "cuda", nullptr};
             return tsrNativeWaitStream(&native, w.s);
           }()),
    MAKER("event_create", device, createEvent, TSR_EDEVICE,
          [&] {
            tsr_event_t out;
            return tsrCreateEvent(w.context, &out);
          }()),
    MAKER("module_load", device, loadModule, TSR_EINVAL,
          [&] {
            tsr_module_t out;
            return w.load(out);
          }()),
    MAKER("graph_create", device, createGraph, TSR_EDEVICE, (w.graph(), w.status)),
    STATUS("graph_launch", stream, replay,
           [&] {
             tsr_graph_t g = w.graph();
             return tsrGraphLaunch(g, w.s);
           }()),
};

class Slots : public testing::TestWithParam<Row> {
protected:
  /// Returns the result of the row's call after `how` has been applied to the mocks.
  void expect(const std::function<void(World &)> &how, tsr_status_t status) {
    World world;
    world.backend.made->context = [&](MockDeviceContext &c) { world.device = &c; };
    world.backend.made->stream = [&](MockDeviceStream &s) { world.stream = &s; };
    world.backend.made->module = [&](MockDeviceModule &m) { world.module = &m; };
    world.use();
    how(world);
    EXPECT_EQ(GetParam().call(world), status) << tsrLastError();
    EXPECT_TRUE(lastErrorHas(kText));
    world.TearDown();
  }
};

TEST_P(Slots, FailureIsReported) { expect(GetParam().fail, GetParam().status); }
TEST_P(Slots, ExceptionBecomesAStatusAndAText) { expect(GetParam().raise, GetParam().thrown); }

INSTANTIATE_TEST_SUITE_P(All, Slots, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.slot); });

/// Slots that are called before a context exists.
class Early : public FakeTest {
protected:
  void SetUp() override {
    plugin.serve(backend);
    ASSERT_OK(plugin.add());
  }
};

TEST_F(Early, NoContext) {
  EXPECT_CALL(backend, createContext)
      .WillOnce(MakeNothing("the device is on fire"))
      .WillOnce(Throw(std::runtime_error("the device is gone")));
  EXPECT_EQ(create(), TSR_EDEVICE);
  EXPECT_TRUE(lastErrorHas("the device is on fire"));
  EXPECT_EQ(create(), TSR_EDEVICE);
  EXPECT_TRUE(lastErrorHas("the device is gone"));
}

TEST_F(Early, UnimplementedCallsAreReported) {
  EXPECT_CALL(backend, createContext)
      .WillOnce(Throw(StatusError(TSR_UNIMPLEMENTED, "no contexts yet")))
      .WillRepeatedly(DoDefault());
  EXPECT_EQ(create(), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("no contexts yet"));
  backend.made->context = [](MockDeviceContext &c) {
    EXPECT_CALL(c, createEvent).WillOnce(Throw(StatusError(TSR_UNIMPLEMENTED, "no events yet")));
    EXPECT_CALL(c, alloc).WillOnce(Throw(StatusError(TSR_EIO, "the bus is down")));
  };
  ASSERT_OK(create());
  tsr_event_t event = nullptr;
  EXPECT_EQ(tsrCreateEvent(context, &event), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("no events yet"));
  void *memory = nullptr;
  EXPECT_EQ(tsrAlloc(context, 8, TSR_MEM_DEVICE, &memory), TSR_EIO);
  EXPECT_TRUE(lastErrorHas("the bus is down"));
}

TEST_F(Early, NoMemoryForAContext) {
  EXPECT_CALL(backend, createContext).WillOnce(Throw(std::bad_alloc()));
  EXPECT_EQ(create(), TSR_EOOM);
}

TEST_F(Early, NoDeviceInfo) {
  EXPECT_CALL(backend, deviceInfo).WillRepeatedly(MakeNothing("nobody knows"));
  tsr_device_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(tsrGetBackendDeviceInfo("fake", 0, &info), TSR_EDEVICE);
  EXPECT_TRUE(lastErrorHas("nobody knows"));
}

TEST_F(Early, NoDefaultStream) {
  backend.made->context = [](MockDeviceContext &c) {
    EXPECT_CALL(c, createStream).WillOnce(MakeNothing("no queue is left"));
  };
  EXPECT_EQ(create(), TSR_EDEVICE);
  EXPECT_TRUE(lastErrorHas("no queue is left"));
}

TEST_F(Early, NoKernel) {
  backend.made->module = [](MockDeviceModule &m) {
    // Requested by the compiler's symbol first, then by the plain name.
    EXPECT_CALL(m, getKernel).Times(2).WillRepeatedly(MakeNothing("there is no such entry point"));
  };
  ASSERT_OK(create());
  tsr_module_t module = nullptr;
  EXPECT_EQ(load(module), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("there is no such entry point"));
}

TEST_F(Early, AnInvalidStatusIsTheBackendsFault) {
  ASSERT_OK(plugin.remove());
  plugin.backendTable().mem_alloc = [](tsr_be_context_t *, uint64_t, uint32_t, void **,
                                       tsr_text_t *) -> int32_t { return 77; };
  ASSERT_OK(plugin.add());
  ASSERT_OK(create());
  void *p = nullptr;
  EXPECT_EQ(tsrAlloc(context, 8, TSR_MEM_DEVICE, &p), TSR_EINTERNAL);
  EXPECT_TRUE(lastErrorHas("77, which is not a status"));
}

} // namespace
