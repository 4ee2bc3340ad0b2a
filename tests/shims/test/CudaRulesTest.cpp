// The rules of CUDA's contexts, broken once; RulesTest.cpp has those that HIP has, too.
#include "tests/shims/test/RulesFixture.h"

namespace tessera {
namespace {

TEST_F(RulesTest, CallsHaveAContext) {
  ptx::CudaContext *popped;
  ASSERT_EQ(api.contextPop(&popped), 0);
  EXPECT_NE(api.streamQuery(stream), 0);
  broke("no-context");
  ASSERT_EQ(api.contextPush(api.first), 0);
}

TEST_F(RulesTest, ContextsAreReleasedOnce) {
  ptx::CudaContext *again = nullptr;
  ASSERT_EQ(api.contextRetain(&again, 1), 0);
  ASSERT_EQ(api.contextRelease(1), 0);
  ASSERT_EQ(api.contextRelease(1), 0);
  EXPECT_NE(api.contextRelease(1), 0);
  broke("double-release");
  ASSERT_EQ(api.contextRetain(&again, 1), 0);
}

TEST_F(RulesTest, ObjectsStayInTheirContext) {
  ASSERT_EQ(api.contextPush(api.second), 0);
  EXPECT_NE(api.fillBytes(block, 0, 4, stream), 0);
  broke("wrong-context");
  ptx::CudaStream *own;
  ASSERT_EQ(api.streamCreate(&own, 1), 0);
  EXPECT_NE(api.fillBytes(block, 0, 4, own), 0); // memory of the other device
  broke("wrong-context");
  ASSERT_EQ(api.enablePeer(api.first, 0), 0);
  EXPECT_EQ(api.fillBytes(block, 0, 4, own), 0);
  EXPECT_EQ(shim.breaches(), "");
  api.streamSynchronize(own);
  api.streamDestroy(own);
  ptx::CudaContext *popped;
  api.contextPop(&popped);
}
TEST_F(RulesTest, KernelsHaveNoClusters) {
  ptx::LaunchAttribute cluster{};
  cluster.id = ptx::kClusterDimension;
  ptx::LaunchConfig config{{1, 1, 1}, {64, 1, 1}, 0, stream, &cluster, 1};
  ptx::CudaFunction *axpy = load("tsr_kernel_axpy");
  EXPECT_NE(api.launch(&config, axpy, nullptr, nullptr), 0);
  broke("cluster");
  ASSERT_EQ(api.moduleUnload(module), 0);
}

} // namespace
} // namespace tessera
