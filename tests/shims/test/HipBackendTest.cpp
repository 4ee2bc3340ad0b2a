// What is HIP's own of GpuBackend over HIP; BackendTest.cpp has what all vendors share.
#include "tests/shims/test/BackendFixture.h"

namespace tessera {
namespace {

TEST_F(BackendTest, DescribesItsDevice) {
  ASSERT_EQ(backend.deviceCount(), 2);
  const DeviceInfo &info = *backend.deviceInfo(0, why);
  EXPECT_EQ(info.arch, "rocm:gfx90a");
  EXPECT_EQ(info.maxSharedBytes, 64u << 10);
  for (const char *text :
       {R"("backend": "rocm")", R"("name": "Shim gfx90a #0")", R"("arch": "rocm:gfx90a")",
        R"("emulated": false)", R"("tensorcore": {"fp16": true, "bf16": true)", R"("warp_size": 64)",
        R"("shared_bytes_per_block": 65536)", R"("memory_bytes": 8589934592)", R"("compute_units": 104)",
        R"("vector_bytes": 256)", R"("memory_flags": ["device", "pinned_host"])", R"("peer_access": true)",
        R"("dtypes": ["f64", )", R"("gcn_arch": "gfx90a:sramecc+:xnack-"})"})
    EXPECT_THAT(info.capabilities, HasSubstr(text));
  tsr_probe_t probe{};
  EXPECT_EQ(backend.probe(probe, why), TSR_SUCCESS);
  EXPECT_EQ(probe.score, 0u);
  EXPECT_STREQ(probe.pci[0], "0000:c1:00.0");
  EXPECT_STREQ(probe.driver, "6.3.42134");
}

TEST(HipArchitecture, HasNoSettings) {
  EXPECT_EQ(rocm::processorOf("gfx90a:sramecc+:xnack-"), "gfx90a");
  EXPECT_EQ(rocm::processorOf("gfx942:sramecc+:xnack+"), "gfx942");
  EXPECT_EQ(rocm::processorOf("gfx1100"), "gfx1100");
}

/// Has devices of its own, because those of GpuBackend are found once.
template <int> struct OtherDriver : rocm::HipDriver {};

TEST(HipDevices, OneThatAnswersNothingIsLeftOut) {
  shimOf().configure("devices=2 broken=0");
  std::string why;
  GpuBackend<OtherDriver<0>> backend;
  ASSERT_EQ(backend.deviceCount(), 1);
  EXPECT_EQ(backend.deviceInfo(0, why)->name, "Shim gfx90a #1");
}

TEST(HipDevices, OneWithoutCompiledCodeHasItsName) {
  shimOf().configure("arch=gfx1030");
  std::string why;
  GpuBackend<OtherDriver<1>> backend;
  ASSERT_EQ(backend.deviceCount(), 1);
  EXPECT_EQ(backend.deviceInfo(0, why)->arch, "rocm:gfx1030");
  EXPECT_THAT(backend.deviceInfo(0, why)->capabilities, HasSubstr("\"dtypes\": []"));
}

TEST_F(BackendTest, LeavesTheDeviceOfTheThreadAsItWas) {
  auto *set = shimOf().find<int(int)>("hipSetDevice");
  auto *get = shimOf().find<int(int *)>("hipGetDevice");
  ASSERT_EQ(set(1), 0);
  auto s = stream();
  void *x = alloc(4);
  EXPECT_EQ(s->fill(x, 0, 4, true, why), TSR_SUCCESS) << why;
  int current = -1;
  ASSERT_EQ(get(&current), 0);
  EXPECT_EQ(current, 1);
  ASSERT_EQ(set(0), 0);
}

TEST_F(BackendTest, RefusesLaunchesWithoutRoom) {
  shimOf().configure("residents=0");
  refused(axpySpec(),
          "no block of 64 threads with 32 registers each and 0 bytes of shared memory fits on a unit");
  shimOf().configure("");
}

TEST_F(BackendTest, SaysWhyCodeObjectsDoNotLoad) {
  shimOf().configure("jit=fails");
  EXPECT_FALSE(load());
  EXPECT_THAT(why, HasSubstr("hipModuleLoadData failed with hipErrorInvalidImage"));
  EXPECT_THAT(why, HasSubstr("which ROCm 5.7 and newer load"));
  shimOf().configure("arch=gfx942"); // the code is gfx90a's
  EXPECT_FALSE(load());
  EXPECT_THAT(why, HasSubstr("hipModuleLoadData failed with hipErrorNoBinaryForGpu"));
  shimOf().configure("");
  const std::string text(128, 'x');
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_HSACO, text.data(), text.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("hipErrorInvalidImage"));
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_PTX, text.data(), text.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("backend rocm loads no images of this format"));
}

} // namespace
} // namespace tessera
