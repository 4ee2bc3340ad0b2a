// Communicators of mocks behind the C ABI.
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

namespace {

class FakeCollective : public testing::Test {
protected:
  void TearDown() override {
    if (comm) EXPECT_OK(tsrDestroyComm(comm));
  }
  tsr_status_t create(int32_t rank = 0, int32_t size = 1, const char *name = "wire") {
    const tsr_comm_options_t o = {sizeof o, name, "here", rank, size, 0};
    return tsrCreateComm(&o, &comm);
  }
  tsr_status_t reduce() { return tsrAllReduce(comm, in, out, 2, TSR_DTYPE_F32, TSR_REDUCE_MAX); }

  NiceMock<MockCollective> collective;
  FakePlugin plugin{"wire", collective};
  tsr_comm_t comm = nullptr;
  float in[2] = {1, 2}, out[2] = {};
};

TEST_F(FakeCollective, ASingleRankWorks) {
  ASSERT_OK(create());
  EXPECT_OK(reduce());
  EXPECT_EQ(out[1], 2);
  tsr_comm_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_OK(tsrCommInfo(comm, &info));
  EXPECT_STREQ(info.implementation, "wire");
  EXPECT_STREQ(info.topology, "process");
}

TEST_F(FakeCollective, TheCallArrivesCompletely) {
  collective.made = [this](MockCommunicator &c) {
    EXPECT_CALL(c, run).WillOnce([this](const tsr_cl_call_t &call, std::string &) {
      EXPECT_EQ(call.kind, uint32_t(TSR_ALL_REDUCE));
      EXPECT_EQ(call.op, uint32_t(TSR_REDUCE_MAX));
      EXPECT_EQ(call.dtype, TSR_DTYPE_F32);
      EXPECT_EQ(call.count, 2u);
      EXPECT_EQ(call.src, in);
      return TSR_SUCCESS;
    });
  };
  ASSERT_OK(create(1, 4));
  EXPECT_OK(reduce());
}

TEST_F(FakeCollective, QueuedCallsGoThroughTheStreamOfAnyBackend) {
  NiceMock<MockBackend> backend;
  FakePlugin device{"device"};
  std::vector<DeviceStream::HostCall> queued;
  backend.made->stream = [&](MockDeviceStream &s) {
    ON_CALL(s, callHost).WillByDefault([&](DeviceStream::HostCall call, std::string &) {
      queued.push_back(std::move(call));
      return TSR_SUCCESS;
    });
  };
  device.serve(backend);
  ASSERT_OK(device.add());
  const tsr_context_options_t o = {sizeof o, "device", 0, nullptr};
  tsr_context_t context = nullptr;
  tsr_stream_t stream = nullptr, other = nullptr;
  ASSERT_OK(tsrCreateContextEx(&o, &context));
  ASSERT_OK(tsrCreateStream(context, &stream));
  ASSERT_OK(tsrCreateStream(context, &other));
  ASSERT_OK(create());
  std::string place = "train.py:31";
  const tsr_collective_call_t call = {sizeof call,
                                      TSR_ALL_REDUCE,
                                      TSR_DTYPE_F32,
                                      TSR_REDUCE_MAX,
                                      0,
                                      2,
                                      in,
                                      out,
                                      nullptr,
                                      0,
                                      place.c_str(),
                                      0,
                                      0};
  EXPECT_OK(tsrCollectiveAsync(comm, &call, stream));
  place = "somewhere else"; // strings are copied
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(reduce(), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("synchronize their stream first"));
  EXPECT_EQ(tsrCollectiveAsync(comm, &call, other), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("queued on another stream"));
  EXPECT_OK(tsrCollectiveAsync(comm, &call, stream));
  ASSERT_EQ(queued.size(), 2u);
  std::string why;
  EXPECT_EQ(queued[0](why), TSR_SUCCESS);
  EXPECT_EQ(out[1], 2);
  EXPECT_EQ(reduce(), TSR_EINVAL); // one is left
  queued.pop_back();               // dropped because of an earlier failure
  EXPECT_OK(reduce());
  EXPECT_OK(tsrCollectiveAsync(comm, &call, other));
  // The call outlives its communicator.
  ASSERT_OK(tsrDestroyComm(std::exchange(comm, nullptr)));
  EXPECT_EQ(tsrUnregisterPlugin("wire"), TSR_EINVAL);
  EXPECT_EQ(queued[1](why), TSR_SUCCESS);
  queued.clear();
  EXPECT_OK(plugin.remove());
  ASSERT_OK(tsrDestroyContext(context));
}

TEST_F(FakeCollective, FailuresAndExceptionsAreReported) {
  collective.made = [](MockCommunicator &c) {
    EXPECT_CALL(c, run)
        .WillOnce(Fail(TSR_ETIMEOUT, "rank 3 is asleep"))
        .WillOnce(Throw(std::runtime_error("the wire is cut")));
  };
  ASSERT_OK(create());
  EXPECT_EQ(reduce(), TSR_ETIMEOUT);
  EXPECT_TRUE(lastErrorHas("rank 3 is asleep"));
  EXPECT_EQ(reduce(), TSR_EINTERNAL);
  EXPECT_TRUE(lastErrorHas("the wire is cut"));
}

TEST_F(FakeCollective, RanksThatDoNotMeet) {
  EXPECT_CALL(collective, create)
      .WillOnce([](const tsr_cl_options_t &o, tsr_status_t &status, std::string &why) {
        EXPECT_STREQ(o.id, "here");
        EXPECT_EQ(o.size, 2);
        status = TSR_ETIMEOUT, why = "rank 1 has not come";
        return nullptr;
      })
      .WillOnce(Throw(std::runtime_error("there is no wire")));
  EXPECT_EQ(create(0, 2), TSR_ETIMEOUT);
  EXPECT_TRUE(lastErrorHas("rank 1 has not come"));
  EXPECT_EQ(create(0, 2), TSR_EINTERNAL);
  EXPECT_TRUE(lastErrorHas("there is no wire"));
}

TEST_F(FakeCollective, StaysWhileACommunicatorLives) {
  ASSERT_OK(create());
  EXPECT_EQ(tsrUnregisterPlugin("wire"), TSR_EINVAL);
  ASSERT_OK(tsrDestroyComm(std::exchange(comm, nullptr)));
  EXPECT_OK(plugin.remove());
  EXPECT_EQ(create(), TSR_ENOTFOUND);
}

TEST_F(FakeCollective, OfInterface10TakesItsKindsAndDtypes) {
  FakePlugin old("old");
  old.serve(collective);
  old.collectiveTable().version_minor = 0;
  ASSERT_OK(old.add());
  ASSERT_OK(create(0, 1, "old"));
  EXPECT_OK(tsrAllReduce(comm, in, out, 2, TSR_DTYPE_BOOL, TSR_REDUCE_MAX));
  EXPECT_EQ(tsrAllReduce(comm, in, out, 2, TSR_DTYPE_U16, TSR_REDUCE_MAX), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(
      lastErrorHas("implementation 'old' has no u16: its interface version is 1.0, and 1.1 is needed"));
  EXPECT_EQ(tsrAllToAll(comm, in, out, 2, TSR_DTYPE_F32), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("implementation 'old' has no all_to_all"));
  ASSERT_OK(tsrDestroyComm(std::exchange(comm, nullptr)));
}

TEST_F(FakeCollective, WithoutTopologyItIsAProcess) {
  FakePlugin bare("bare");
  bare.serve(collective);
  bare.collectiveTable().topology = nullptr;
  bare.collectiveTable().algorithms = nullptr;
  ASSERT_OK(bare.add());
  ASSERT_OK(create(0, 1, "bare"));
  tsr_comm_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_OK(tsrCommInfo(comm, &info));
  EXPECT_STREQ(info.topology, "process");
  ASSERT_OK(tsrDestroyComm(std::exchange(comm, nullptr)));
}

} // namespace
