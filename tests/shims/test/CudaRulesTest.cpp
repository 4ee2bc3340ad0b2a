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
TEST_F(RulesTest, BuffersOfParametersHaveNoTensorMaps) {
  alignas(64) unsigned char map[128] = {};
  EXPECT_NE(api.launchWith(stream, load("tsr_kernel_boxes"), 32, 0, map, sizeof map, 1), 0);
  EXPECT_EQ(shim.breaches(),
            "parameters: a buffer of parameters has a tensor map, whose offset the assembler decides\n");
  ASSERT_EQ(api.moduleUnload(module), 0);
}
TEST_F(RulesTest, ClustersAreThoseOfTheKernel) {
  uint64_t y = address(block);
  size_t bytes = sizeof y;
  void *parameters[] = {reinterpret_cast<void *>(1), &y, reinterpret_cast<void *>(2), &bytes, nullptr};
  auto launch = [&](const char *kernel, unsigned blocks, unsigned inCluster,
                    int id = ptx::kClusterDimension) {
    ptx::LaunchAttribute cluster{};
    cluster.id = id, cluster.value.cluster[0] = inCluster;
    cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
    ptx::LaunchConfig config{{blocks, 1, 1}, {32, 1, 1}, 0, stream, &cluster, inCluster != 0};
    const int result = api.launch(&config, load(kernel), nullptr, parameters);
    EXPECT_EQ(api.streamSynchronize(stream), 0);
    EXPECT_EQ(api.moduleUnload(module), 0);
    return result;
  };
  EXPECT_NE(launch("tsr_kernel_pairs", 4, 2), 0); // on sm_80
  broke("cluster");
  shim.configure("devices=2 arch=sm_90");
  for (auto [blocks, inCluster] : {std::pair(4u, 0u), {4u, 4u}, {3u, 2u}}) {
    EXPECT_NE(launch("tsr_kernel_pairs", blocks, inCluster), 0);
    broke("cluster");
  }
  EXPECT_NE(launch("tsr_kernel_pairs", 4, 2, ptx::kClusterDimension + 1), 0);
  broke("cluster");
  EXPECT_EQ(launch("tsr_kernel_pairs", 4, 2), 0);
  EXPECT_EQ(shim.breaches(), "");
}

/// Arguments of cuTensorMapEncodeTiled that break no rule: a tensor of 100 x 64 elements of 16 bits.
struct TensorMap {
  alignas(64) unsigned char out[192] = {};
  int type = 1;
  uint32_t rank = 2;
  uint64_t extents[5] = {64, 100, 1, 1, 1}, strides[4] = {128, 12800, 12800, 12800};
  uint32_t box[5] = {64, 8, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  int interleave = 0, swizzle = 3, promotion = 3, fill = 0;
  size_t misaligned = 0, mapMisaligned = 0;
};

TEST_F(RulesTest, TensorMapsObeyTheDriver) {
  shim.configure("devices=2 arch=sm_90");
  auto encode = [&](TensorMap m) {
    return api.encodeTensorMap(m.out + m.mapMisaligned, m.type, m.rank, at(m.misaligned), m.extents,
                               m.strides, m.box, m.steps, m.interleave, m.swizzle, m.promotion, m.fill);
  };
  EXPECT_EQ(encode({}), 0);
  EXPECT_EQ(shim.breaches(), "");
  ptx::CudaContext *popped;
  ASSERT_EQ(api.contextPop(&popped), 0);
  EXPECT_NE(encode({}), 0);
  broke("no-context");
  ASSERT_EQ(api.contextPush(api.first), 0);
  struct Case {
    const char *rule;
    void (*breakIt)(TensorMap &);
  };
  static constexpr Case cases[] = {
      {"the map is not aligned to 64 bytes", [](TensorMap &m) { m.mapMisaligned = 16; }},
      {"there is no such data type", [](TensorMap &m) { m.type = 13; }},
      {"the shim has no interleaved layouts", [](TensorMap &m) { m.interleave = 1; }},
      {"there is no such enumerator", [](TensorMap &m) { m.swizzle = 4; }},
      {"there is no such enumerator", [](TensorMap &m) { m.promotion = -1; }},
      {"there is no such enumerator", [](TensorMap &m) { m.fill = 2; }},
      {"NaNs fill tensors of floats only", [](TensorMap &m) { m.fill = 1; }},
      {"the rank is not 1 to 5", [](TensorMap &m) { m.rank = 0; }},
      {"the rank is not 1 to 5", [](TensorMap &m) { m.rank = 6; }},
      {"the address is no multiple of 16", [](TensorMap &m) { m.misaligned = 8; }},
      {"an extent is not 1 to 2^32", [](TensorMap &m) { m.extents[1] = 0; }},
      {"an extent is not 1 to 2^32", [](TensorMap &m) { m.extents[0] = (uint64_t{1} << 32) + 1; }},
      {"a stride is no multiple of 16 below 2^40", [](TensorMap &m) { m.strides[0] = 136; }},
      {"a stride is no multiple of 16 below 2^40", [](TensorMap &m) { m.strides[0] = uint64_t{1} << 40; }},
      {"an extent of the box is not 1 to 256", [](TensorMap &m) { m.box[1] = 0; }},
      {"an extent of the box is not 1 to 256", [](TensorMap &m) { m.box[1] = 257; }},
      {"the shim has no strides of elements", [](TensorMap &m) { m.steps[0] = 2; }},
      {"a row of the box is no multiple of 16 bytes", [](TensorMap &m) { m.box[0] = 12; }},
      {"a row of the box is longer than the swizzle", [](TensorMap &m) { m.swizzle = 2; }},
  };
  for (const Case &c : cases) {
    TensorMap broken;
    c.breakIt(broken);
    EXPECT_NE(encode(broken), 0) << c.rule;
    EXPECT_EQ(shim.breaches(), std::string("tensor-map: cuTensorMapEncodeTiled: ") + c.rule + "\n");
  }
}

} // namespace
} // namespace tessera
