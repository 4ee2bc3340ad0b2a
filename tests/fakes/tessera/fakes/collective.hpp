// Mocks of Collective and Communicator. By default, a communicator has the rank and size of its options (rank
// 0 of size 1 if the launcher would define them), and each call of a single rank but send and recv succeeds:
// it copies src to dst. Splits and aborts are TSR_UNIMPLEMENTED.
#pragma once
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <tessera/collective.hpp>
#include <tessera/fakes/actions.hpp>

namespace tessera::fakes {

class MockCommunicator : public Communicator {
public:
  MockCommunicator(int rank, int size) {
    ON_CALL(*this, rank).WillByDefault(testing::Return(rank));
    ON_CALL(*this, size).WillByDefault(testing::Return(size));
    ON_CALL(*this, run).WillByDefault([size](const tsr_cl_call_t &call, std::string &why) {
      if (size != 1 || collective::isPaired(call.kind)) {
        why = "the fake communicator has no other ranks: mock run";
        return TSR_UNIMPLEMENTED;
      }
      uint8_t algorithm = 0;
      if (!collective::check(call, size, "fake", algorithm, why)) return TSR_EINVAL;
      if (call.count && call.src != call.dst)
        std::memcpy(call.dst, call.src, call.count * collective::kBytes[call.dtype]);
      return TSR_SUCCESS;
    });
    ON_CALL(*this, split)
        .WillByDefault([this](int32_t color, int32_t key, std::unique_ptr<Communicator> &out) {
          return Communicator::split(color, key, out);
        });
    ON_CALL(*this, abort).WillByDefault([this](const std::string &reason) {
      return Communicator::abort(reason);
    });
  }
  MOCK_METHOD(int, rank, (), (const, override));
  MOCK_METHOD(int, size, (), (const, override));
  MOCK_METHOD(tsr_status_t, run, (const tsr_cl_call_t &, std::string &), (override));
  MOCK_METHOD(collective::Outcome, split, (int32_t, int32_t, std::unique_ptr<Communicator> &), (override));
  MOCK_METHOD(collective::Outcome, abort, (const std::string &), (override));
};

class MockCollective : public Collective {
public:
  MockCollective() {
    ON_CALL(*this, create).WillByDefault([this](const tsr_cl_options_t &o, tsr_status_t &, std::string &) {
      auto out = std::make_unique<testing::NiceMock<MockCommunicator>>(o.rank < 0 ? 0 : o.rank,
                                                                       o.size < 0 ? 1 : o.size);
      if (made) made(*out);
      return out;
    });
    ON_CALL(*this, algorithms).WillByDefault(testing::Return("fake"));
    ON_CALL(*this, topology).WillByDefault(testing::Return("process"));
  }
  MOCK_METHOD(std::unique_ptr<Communicator>, create,
              (const tsr_cl_options_t &, tsr_status_t &, std::string &), (override));
  MOCK_METHOD(const char *, algorithms, (uint32_t), (const, override));
  MOCK_METHOD(const char *, topology, (), (const, override));
  /// Called with each communicator that the default action makes, before the runtime receives it.
  std::function<void(MockCommunicator &)> made;
};

} // namespace tessera::fakes
