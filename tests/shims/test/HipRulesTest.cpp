// The rules of HIP's current device, broken once; RulesTest.cpp has those that CUDA has, too.
#include "tests/shims/test/RulesFixture.h"

namespace tessera {
namespace {

TEST_F(RulesTest, ObjectsStayOnTheirDevice) {
  ASSERT_EQ(api.setDevice(1), 0);
  EXPECT_NE(api.fillBytes(block, 0, 4, stream), 0);
  broke("wrong-context");
  rocm::HipStream *own;
  ASSERT_EQ(api.streamCreate(&own, 1), 0);
  EXPECT_NE(api.fillBytes(block, 0, 4, own), 0); // memory of the other device
  broke("wrong-context");
  ASSERT_EQ(api.enablePeer(0, 0), 0);
  EXPECT_EQ(api.fillBytes(block, 0, 4, own), 0);
  EXPECT_EQ(shim.breaches(), "");
  api.streamSynchronize(own);
  api.streamDestroy(own);
  ASSERT_EQ(api.setDevice(0), 0);
}

} // namespace
} // namespace tessera
