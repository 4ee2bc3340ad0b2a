// What is CUDA's own of GpuBackend over CUDA's driver API; BackendTest.cpp has what all vendors share.
#include "tests/shims/test/BackendFixture.h"

namespace tessera {
namespace ptx {
namespace {

/// The driver's functions, for another library's use of the device.
struct OtherLibrary {
#define CALL(member, symbol, parameters)                                                                     \
  Result(*member) parameters = shimOf().find<Result parameters>(symbol);
  TESSERA_CUDA_CALLS(CALL)
#undef CALL
  OtherLibrary() {
    EXPECT_EQ(contextRetain(&context, 0), 0);
    EXPECT_EQ(contextPush(context), 0);
    EXPECT_EQ(streamCreate(&stream, 1), 0);
  }
  ~OtherLibrary() {
    EXPECT_EQ(streamSynchronize(stream), 0);
    EXPECT_EQ(streamDestroy(stream), 0);
    CudaContext *popped = nullptr;
    EXPECT_EQ(contextPop(&popped), 0);
    EXPECT_EQ(contextRelease(0), 0);
  }
  static CudaAddress at(const void *p) { return reinterpret_cast<CudaAddress>(p); }
  void pause(void *paused) { EXPECT_EQ(shimOf().find<int(void *)>("tesseraShimPause")(paused), 0); }
  void resume() { EXPECT_EQ(shimOf().find<int()>("tesseraShimResume")(), 0); }
  CudaContext *context = nullptr;
  CudaStream *stream = nullptr;
};

} // namespace
} // namespace ptx

namespace {

using ptx::OtherLibrary;

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

constexpr uint64_t kSoon = 50'000'000; // nanoseconds: work that nothing holds up is done by then

TEST_F(BackendTest, WaitsForStreamsOfOtherLibraries) {
  auto s = stream();
  void *x = alloc(400);
  OtherLibrary other;
  for (ptx::CudaStream *theirs :
       {other.stream, static_cast<ptx::CudaStream *>(nullptr), reinterpret_cast<ptx::CudaStream *>(1)}) {
    std::vector<unsigned char> found(400);
    ASSERT_EQ(s->fill(x, 1, 400, true, why), TSR_SUCCESS);
    other.pause(theirs);
    ASSERT_EQ(other.fill(OtherLibrary::at(x), 7, 400, theirs), 0);
    ASSERT_EQ(s->waitNative("cuda", theirs, why), TSR_SUCCESS) << why;
    ASSERT_EQ(s->copy(found.data(), x, 400, false, why), TSR_SUCCESS);
    EXPECT_EQ(s->synchronize(kSoon, why), TSR_ETIMEOUT);
    other.resume();
    ASSERT_EQ(s->synchronize(UINT64_MAX, why), TSR_SUCCESS) << why;
    EXPECT_EQ(found, std::vector<unsigned char>(400, 7));
  }
}

TEST_F(BackendTest, StreamsOfOtherLibrariesWait) {
  auto s = stream();
  void *x = alloc(400), *own = nullptr;
  const char *api = nullptr;
  ASSERT_EQ(s->native(api, own, why), TSR_SUCCESS);
  OtherLibrary other;
  std::vector<unsigned char> found(400);
  other.pause(own);
  ASSERT_EQ(s->fill(x, 7, 400, false, why), TSR_SUCCESS);
  ASSERT_EQ(s->nativeWaits("cuda", other.stream, why), TSR_SUCCESS) << why;
  ASSERT_EQ(other.copy(OtherLibrary::at(found.data()), OtherLibrary::at(x), 400, other.stream), 0);
  const int64_t begin = Activities::now();
  while (Activities::now() - begin < static_cast<int64_t>(kSoon))
    ASSERT_EQ(other.streamQuery(other.stream), 600 /* CUDA_ERROR_NOT_READY */);
  other.resume();
  ASSERT_EQ(other.streamSynchronize(other.stream), 0);
  EXPECT_EQ(found, std::vector<unsigned char>(400, 7));
}

TEST_F(BackendTest, OrdersHeldWorkWithOtherLibraries) {
  auto s = stream();
  void *x = alloc(400);
  OtherLibrary other;
  std::atomic<bool> go{false};
  std::vector<unsigned char> found(400);
  hold(*s, go);
  ASSERT_EQ(other.fill(OtherLibrary::at(x), 7, 400, other.stream), 0);
  ASSERT_EQ(s->waitNative("cuda", other.stream, why), TSR_SUCCESS) << why; // held, with what follows
  ASSERT_EQ(s->fill(x, 8, 400, false, why), TSR_SUCCESS);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kSoon));
    go = true;
  });
  ASSERT_EQ(s->nativeWaits("cuda", other.stream, why), TSR_SUCCESS) << why;
  EXPECT_TRUE(go); // it waited until the work had reached the driver
  ASSERT_EQ(other.copy(OtherLibrary::at(found.data()), OtherLibrary::at(x), 400, other.stream), 0);
  ASSERT_EQ(other.streamSynchronize(other.stream), 0);
  EXPECT_EQ(found, std::vector<unsigned char>(400, 8));
  later.join();
}

TEST_F(BackendTest, RefusesStreamsThatItCannotOrder) {
  auto s = stream();
  OtherLibrary other;
  EXPECT_EQ(s->waitNative("hip", other.stream, why), TSR_EINVAL);
  EXPECT_EQ(why, "the stream is of the interface 'hip', expected 'cuda'");
  EXPECT_EQ(s->nativeWaits("hip", other.stream, why), TSR_EINVAL);
  ptx::CudaGraph *graph = nullptr;
  ASSERT_EQ(other.captureBegin(other.stream, 1), 0);
  EXPECT_EQ(s->waitNative("cuda", other.stream, why), TSR_EINVAL);
  EXPECT_THAT(why, HasSubstr("the stream of the other library records a graph"));
  EXPECT_EQ(s->nativeWaits("cuda", other.stream, why), TSR_EINVAL);
  ASSERT_EQ(other.captureEnd(other.stream, &graph), 0);
  ASSERT_EQ(other.graphDestroy(graph), 0);
  EXPECT_EQ(s->waitNative("cuda", other.stream, why), TSR_SUCCESS) << why;
}

TEST(CudaArchitecture, IsTheNewestThatDeviceAndDriverTake) {
  auto name = [](int major, int minor, int driver) {
    return std::string(ptx::architectureFor(major, minor, driver)->name);
  };
  EXPECT_EQ(name(8, 0, 12040), "sm_80");
  EXPECT_EQ(name(7, 5, 12040), "sm_75");
  EXPECT_EQ(name(8, 7, 12040), "sm_86");
  EXPECT_EQ(name(8, 9, 13000), "sm_89");
  EXPECT_EQ(name(9, 0, 12040), "sm_90a");
  EXPECT_EQ(name(9, 0, 12030), "sm_86"); // which does not read PTX 8.4
  EXPECT_EQ(name(9, 0, 11080), "sm_75"); // nor 8.1: loading shows the driver's reason
  EXPECT_EQ(name(10, 0, 13000), "sm_100a");
  EXPECT_EQ(name(10, 3, 13000), "sm_90"); // sm_90a is for 9.0 alone, sm_100a for 10.0
  EXPECT_EQ(name(12, 0, 13000), "sm_120");
  EXPECT_EQ(name(12, 0, 12070), "sm_90"); // which does not read PTX 8.7
  EXPECT_FALSE(ptx::architectureFor(7, 0, 12040));
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
  EXPECT_EQ(backend.deviceInfo(0, why)->arch, "ptx:sm_86");
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
