#include <tessera/fakes/fakes.hpp>
#include <vector>

using namespace tessera::fakes;
using testing::_;
using testing::HasSubstr;
using testing::NiceMock;

// The code under test: it returns whether the numbers arrived.
std::string upload(const std::vector<float> &numbers) {
  try {
    tessera::Context context("fake");
    auto buffer = context.upload<float>(numbers);
    return "";
  } catch (const tessera::Error &error) {
    return error.what();
  }
}

TEST(Upload, CopiesOnce) {
  NiceMock<MockBackend> backend;
  backend.made->stream = [](MockDeviceStream &stream) {
    EXPECT_CALL(stream, copy(_, _, 3 * sizeof(float), _, _)).Times(1);
  };
  FakePlugin plugin("fake", backend);
  EXPECT_EQ(upload({1, 2, 3}), "");
}

TEST(Upload, SaysWhatFailed) {
  NiceMock<MockBackend> backend;
  backend.made->stream = [](MockDeviceStream &stream) {
    EXPECT_CALL(stream, copy).WillOnce(Fail(TSR_EDEVICE, "the bus is gone"));
  };
  FakePlugin plugin("fake", backend);
  EXPECT_THAT(upload({1, 2, 3}), HasSubstr("the bus is gone"));
}

TEST(Upload, RunsOutOfMemory) {
  NiceMock<MockBackend> backend;
  backend.made->context = [](MockDeviceContext &context) {
    EXPECT_CALL(context, alloc).WillOnce(Fail(TSR_EOOM, "0 bytes left"));
  };
  FakePlugin plugin("fake", backend);
  EXPECT_THAT(upload({1, 2, 3}), HasSubstr("TSR_EOOM"));
}
