// What is CUDA's own of GpuBackend over CUDA's driver API; BackendTest.cpp has what all vendors share.
#include "tests/shims/test/BackendFixture.h"

namespace tessera {
namespace {

TEST_F(BackendTest, DescribesItsDevice) {
  ASSERT_EQ(backend.deviceCount(), 2);
  const DeviceInfo &info = *backend.deviceInfo(0, why);
  EXPECT_EQ(info.arch, "ptx:sm_80");
  EXPECT_EQ(info.maxSharedBytes, 163u << 10);
  for (const char *text :
       {R"("backend": "ptx")", R"("name": "Shim sm_80 #0")", R"("arch": "ptx:sm_80")", R"("emulated": false)",
        R"("tensorcore": {"fp16": true, "bf16": true)", R"("warp_size": 32)", R"("cp_async": true)",
        R"("shared_bytes_per_block": 166912)", R"("memory_bytes": 8589934592)", R"("compute_units": 4)",
        R"("vector_bytes": 128)", R"("memory_flags": ["device", "pinned_host"])", R"("peer_access": true)",
        R"("dtypes": ["f64", )", R"("compute_capability": "8.0"})"})
    EXPECT_THAT(info.capabilities, HasSubstr(text));
  tsr_probe_t probe{};
  EXPECT_EQ(backend.probe(probe, why), TSR_SUCCESS);
  EXPECT_STREQ(probe.pci[0], "0000:65:00.0");
  EXPECT_STREQ(probe.driver, "12.4");
}

TEST_F(BackendTest, RefusesLaunchesWithoutRoom) {
  shimOf().configure("residents=0");
  refused(axpySpec(),
          "no block of 64 threads with 32 registers each and 0 bytes of shared memory fits on a unit");
  shimOf().configure("");
}

TEST(CudaArchitecture, IsTheNewestThatDeviceAndDriverTake) {
  auto name = [](int major, int minor, int driver) {
    return std::string(ptx::architectureFor(major, minor, driver)->name);
  };
  EXPECT_EQ(name(8, 0, 12040), "sm_80");
  EXPECT_EQ(name(8, 9, 13000), "sm_80");
  EXPECT_EQ(name(9, 0, 12040), "sm_90a");
  EXPECT_EQ(name(9, 0, 12030), "sm_80");  // which does not read PTX 8.4
  EXPECT_EQ(name(9, 0, 11080), "sm_80");  // nor 8.1: loading shows the driver's reason
  EXPECT_EQ(name(12, 0, 13000), "sm_90"); // sm_90a is for 9.0 alone
  EXPECT_FALSE(ptx::architectureFor(7, 5, 12040));
}

/// Has devices of its own, because those of GpuBackend are found once.
template <int> struct OtherDriver : ptx::CudaDriver {};

TEST(CudaDevices, OneThatAnswersNothingIsLeftOut) {
  shimOf().configure("devices=2 broken=0");
  std::string why;
  GpuBackend<OtherDriver<0>> backend;
  ASSERT_EQ(backend.deviceCount(), 1);
  EXPECT_EQ(backend.deviceInfo(0, why)->name, "Shim sm_80 #1");
  auto context = backend.createContext(0, nullptr, why); // of the driver's device 1
  auto stream = context->createStream(why);
  EXPECT_EQ(stream->synchronize(UINT64_MAX, why), TSR_SUCCESS) << why;
  stream.reset(), context.reset();
  EXPECT_EQ(shimOf().leaks(), "");
}

TEST(CudaDevices, OlderDriversGetCodeThatTheyRead) {
  shimOf().configure("arch=sm_90 driver=12020");
  std::string why;
  GpuBackend<OtherDriver<1>> backend;
  ASSERT_EQ(backend.deviceCount(), 1);
  EXPECT_EQ(backend.deviceInfo(0, why)->arch, "ptx:sm_80");
  EXPECT_EQ(backend.deviceInfo(0, why)->maxSharedBytes, 227u << 10);
  auto context = backend.createContext(0, nullptr, why);
  const std::string image = shim::contentsOf(Vendor::kImage);
  EXPECT_TRUE(context->loadModule({TSR_IMAGE_PTX, image.data(), image.size(), "kernels.ptx", nullptr}, why))
      << why;
  context.reset();
  EXPECT_EQ(shimOf().leaks(), "");
}

TEST_F(BackendTest, ShowsTheLogOfTheAssembler) {
  shimOf().configure("jit=fails");
  EXPECT_FALSE(load());
  EXPECT_THAT(why, HasSubstr("cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX"));
  EXPECT_THAT(why, HasSubstr("line 7; error : planted"));
  shimOf().configure("");
  const std::string newer = ".version 9.0\n.target sm_80\n", other = ".version 8.0\n.target sm_90\n";
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_PTX, newer.data(), newer.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("Unsupported .version 9.0; current version is '8.4'"));
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_PTX, other.data(), other.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("'sm_90' cannot be compiled"));
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_HSACO, other.data(), other.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("backend ptx loads no images of this format"));
}

} // namespace
} // namespace tessera
