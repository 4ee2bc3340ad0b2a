// Freeing memory waits for the streams that may have work, and asks nothing of the others.
#include "core/test/fakes/FakeFixture.h"
#include <map>
#include <set>
#include <vector>

using namespace tessera;
using namespace tessera::test;

namespace {

class IdleStreams : public FakeContextTest {
protected:
  void SetUp() override {
    backend.made->stream = [this](MockDeviceStream &s) {
      ON_CALL(s, drain).WillByDefault([this, &s] { ++drains[&s]; });
      ON_CALL(s, isIdle).WillByDefault([this, &s] { return !busy.contains(&s); });
      last = &s;
    };
    begin();
  }
  MockDeviceStream *make(tsr_stream_t &out) {
    EXPECT_OK(tsrCreateStream(context, &out));
    return last;
  }
  /// How many streams freeing memory waits for.
  size_t waitedFor() {
    drains.clear();
    EXPECT_OK(tsrFree(context, alloc()));
    return drains.size();
  }
  void fill(tsr_stream_t s) { EXPECT_OK(tsrMemsetAsync(context, word, 0, 8, s)); }

  std::map<MockDeviceStream *, int> drains;
  std::set<MockDeviceStream *> busy;
  MockDeviceStream *last = nullptr;
};

TEST_F(IdleStreams, CostNothing) {
  EXPECT_EQ(waitedFor(), 0u);
  std::vector<tsr_stream_t> streams(100);
  for (tsr_stream_t &s : streams)
    make(s);
  EXPECT_EQ(waitedFor(), 0u); // they never had work
  for (tsr_stream_t s : streams)
    fill(s);
  EXPECT_EQ(waitedFor(), 100u);
  EXPECT_EQ(waitedFor(), 0u);
  fill(streams[7]);
  fill(streams[7]);
  EXPECT_EQ(waitedFor(), 1u);
  for (tsr_stream_t s : streams)
    EXPECT_OK(tsrDestroyStream(s));
}

TEST_F(IdleStreams, AreNotThoseWithWork) {
  std::vector<tsr_stream_t> streams(20);
  for (tsr_stream_t &s : streams) {
    busy.insert(make(s));
    fill(s);
  }
  EXPECT_EQ(waitedFor(), 20u);
  EXPECT_EQ(waitedFor(), 20u);
  busy.clear();
  EXPECT_EQ(waitedFor(), 20u);
  EXPECT_EQ(waitedFor(), 0u);
  for (tsr_stream_t s : streams)
    EXPECT_OK(tsrDestroyStream(s));
}

TEST_F(IdleStreams, AreForgottenWhenTheyAreDestroyed) {
  std::vector<tsr_stream_t> streams(20);
  for (tsr_stream_t &s : streams) {
    make(s);
    fill(s);
  }
  for (size_t i : {0, 19, 5})
    EXPECT_OK(tsrDestroyStream(streams[i]));
  EXPECT_EQ(waitedFor(), 17u);
  for (size_t i = 0; i < streams.size(); ++i)
    if (i != 0 && i != 19 && i != 5) EXPECT_OK(tsrDestroyStream(streams[i]));
  EXPECT_EQ(waitedFor(), 0u);
}

/// Work that is queued through the native handle is unknown to the runtime.
TEST_F(IdleStreams, AreNotThoseWhoseNativeHandleIsKnown) {
  std::vector<tsr_stream_t> streams(20);
  for (tsr_stream_t &s : streams) {
    MockDeviceStream *made = make(s);
    ON_CALL(*made, native).WillByDefault([](const char *&api, void *&, std::string &) {
      api = "fake";
      return TSR_SUCCESS;
    });
    fill(s);
  }
  tsr_native_stream_t native{};
  native.struct_size = sizeof native;
  EXPECT_OK(tsrStreamNative(streams[3], &native));
  EXPECT_EQ(waitedFor(), 20u);
  EXPECT_EQ(waitedFor(), 1u);
  for (tsr_stream_t s : streams)
    EXPECT_OK(tsrDestroyStream(s));
}

} // namespace
