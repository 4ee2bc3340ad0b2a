// What is Level Zero's own of GpuBackend over Level Zero; BackendTest.cpp has what all vendors share.
#include "tests/shims/test/BackendFixture.h"

namespace tessera {
namespace {

TEST_F(BackendTest, DescribesItsDevice) {
  ASSERT_EQ(backend.deviceCount(), 2);
  const DeviceInfo &info = *backend.deviceInfo(0, why);
  EXPECT_EQ(info.arch, "levelzero:pvc");
  EXPECT_EQ(info.maxSharedBytes, 128u << 10);
  for (const char *text :
       {R"("backend": "levelzero")", R"("name": "Shim 0bd5 #0")", R"("arch": "levelzero:pvc")",
        R"("emulated": false)", R"("warp_size": 16)", R"("shared_bytes_per_block": 131072)",
        R"("memory_bytes": 8589934592)", R"("compute_units": 64)", R"("vector_bytes": 64)",
        R"("memory_flags": ["device", "pinned_host"])", R"("graphs": true)", R"("peer_access": true)",
        R"("dtypes": ["f64", )", R"("device_id": "0x0bd5"})"})
    EXPECT_THAT(info.capabilities, HasSubstr(text));
  tsr_probe_t probe{};
  EXPECT_EQ(backend.probe(probe, why), TSR_SUCCESS);
  EXPECT_EQ(probe.score, 0u);
  EXPECT_STREQ(probe.pci[0], "0000:3a:00.0");
  EXPECT_STREQ(probe.driver, "1.3");
}

TEST(ZeClock, WrapsAround) {
  EXPECT_EQ(levelzero::ticksBetween(100, 350, 32), 250);
  EXPECT_EQ(levelzero::ticksBetween(350, 100, 32), -250);
  EXPECT_EQ(levelzero::ticksBetween(0xffff'ff00, 0x10, 32), 0x110);
  EXPECT_EQ(levelzero::ticksBetween(0x10, 0xffff'ff00, 32), -0x110);
  EXPECT_EQ(levelzero::ticksBetween(UINT64_MAX, 9, 64), 10);
}

/// Has devices of its own, because those of GpuBackend are found once.
template <int> struct OtherDriver : levelzero::ZeDriver {};

TEST(ZeDevices, OneThatAnswersNothingIsLeftOut) {
  shimOf().configure("devices=2 broken=0");
  std::string why;
  GpuBackend<OtherDriver<0>> backend;
  ASSERT_EQ(backend.deviceCount(), 1);
  EXPECT_EQ(backend.deviceInfo(0, why)->name, "Shim 0bd5 #1");
}

/// The arch and the capabilities of the shim's device with these options.
template <int I> std::pair<std::string, std::string> found(const char *options) {
  shimOf().configure(options);
  std::string why;
  GpuBackend<OtherDriver<I>> backend;
  const DeviceInfo *info = backend.deviceCount() == 1 ? backend.deviceInfo(0, why) : nullptr;
  return info ? std::pair(info->arch, info->capabilities) : std::pair<std::string, std::string>();
}

TEST(ZeDevices, AlchemistGetsItsOwnCode) {
  for (const auto &[arch, capabilities] : {found<1>("arch=acm"), found<5>("arch=g11")}) {
    EXPECT_EQ(arch, "levelzero:acm-g10");
    EXPECT_THAT(capabilities, HasSubstr("\"warp_size\": 8"));
    EXPECT_THAT(capabilities, HasSubstr("\"dtypes\": [\"f32\", "));
    EXPECT_THAT(capabilities, HasSubstr("\"other_images\": [\"levelzero:generic\"]"));
  }
}

TEST(ZeDevices, UnknownOnesGetGenericCode) {
  const auto [arch, capabilities] = found<6>("arch=xe2");
  EXPECT_EQ(arch, "levelzero:generic");
  EXPECT_THAT(capabilities, HasSubstr("\"warp_size\": 16"));
  EXPECT_THAT(capabilities, HasSubstr("\"shared_bytes_per_block\": 131072")); // the device's
  EXPECT_THAT(capabilities, HasSubstr("\"device_id\": \"0xe20b\""));
  EXPECT_THAT(capabilities, HasSubstr("\"other_images\": []"));
}

TEST(ZeDevices, OneWithoutTheSubGroupsOfTheCodeHasItsPciId) {
  const auto [arch, capabilities] = found<7>("arch=simd32");
  EXPECT_EQ(arch, "levelzero:device-0xe20b");
  EXPECT_THAT(capabilities, HasSubstr("\"dtypes\": []"));
  EXPECT_THAT(capabilities, HasSubstr("\"other_images\": []"));
}

TEST(ZeDevices, OlderDriversGiveTheClockInNanoseconds) {
  shimOf().configure("driver=1001");
  std::string why;
  GpuBackend<OtherDriver<2>> backend;
  ASSERT_EQ(backend.deviceCount(), 1);
  auto context = backend.createContext(0, nullptr, why);
  auto stream = context->createStream(why);
  std::shared_ptr<DeviceEvent> a = context->createEvent(why), b = context->createEvent(why);
  ASSERT_EQ(stream->record(a, why), TSR_SUCCESS) << why;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(stream->record(b, why), TSR_SUCCESS) << why;
  b->wait();
  int64_t first = 0, second = 0;
  ASSERT_EQ(a->timestamp(first), TSR_SUCCESS);
  ASSERT_EQ(b->timestamp(second), TSR_SUCCESS);
  EXPECT_GE(second - first, 10'000'000); // 80 ns a tick; the recording may be late
  stream.reset(), a.reset(), b.reset(), context.reset();
  EXPECT_EQ(shimOf().leaks(), "");
}

TEST(ZeDevices, OneWithoutSpirv12IsRefused) {
  shimOf().configure("arch=old");
  std::string why;
  GpuBackend<OtherDriver<3>> backend;
  tsr_probe_t probe{};
  EXPECT_EQ(backend.probe(probe, why), TSR_ENOTFOUND);
  EXPECT_EQ(why, "Shim 0bd5 #0: its driver reads SPIR-V older than 1.2 only");
}

TEST(ZeDevices, NothingIsCalledAfterAFailedInitialization) {
  shimOf().configure("devices=0");
  std::string why;
  GpuBackend<OtherDriver<4>> backend;
  tsr_probe_t probe{};
  EXPECT_EQ(backend.probe(probe, why), TSR_ENOTFOUND);
  EXPECT_EQ(why, "zeInit failed with ZE_RESULT_ERROR_UNINITIALIZED (no Intel GPU, or no driver for it)");
  EXPECT_EQ(shimOf().breaches(), "");
  shimOf().configure("devices=2");
  ASSERT_EQ(shimOf().find<int(uint32_t)>("zeInit")(0), 0); // for the tests that follow
}

TEST_F(BackendTest, DynamicSharedMemoryIsTheLastParameter) {
  KernelSpec spec = axpySpec();
  spec.sharedBytes = spec.dynamicSharedBytes = 1024;
  refused(spec, "kernel axpy: it needs 5 parameters, the last for its dynamic shared memory, and has 4");
}

/// Such a kernel is of a second module.
TEST_F(BackendTest, KernelsThatSpillGetTheLargeRegisterFile) {
  for (const auto &[options, modules] :
       {std::pair("devices=2 spills=512", "2 of kind module"), std::pair("devices=2", "1 of kind module")}) {
    shimOf().configure(options);
    auto kernel = axpy();
    const std::string alive = shimOf().leaks();
    EXPECT_THAT(alive, HasSubstr(modules));
    EXPECT_THAT(alive, HasSubstr("1 of kind kernel"));
    auto s = stream();
    void *x = alloc(256);
    ASSERT_EQ(s->fill(x, 0, 256, false, why), TSR_SUCCESS);
    ASSERT_EQ(s->launch(kernel, axpyValues(x, x, 1.0f, 64).data(), {1, 1, 1}, why), TSR_SUCCESS) << why;
    EXPECT_EQ(read(*s, x, 64), std::vector<float>(64, 0.0f));
  }
}

/// The list of a graph is executed in the queue of each stream that launches it.
TEST_F(BackendTest, StreamsTakeTurnsWithAGraph) {
  constexpr size_t kCount = 200;
  auto a = stream(), b = stream();
  void *x = alloc(kCount * 4), *y = alloc(kCount * 4);
  std::vector<float> ones(kCount, 1.0f);
  ASSERT_EQ(a->copy(x, ones.data(), kCount * 4, true, why), TSR_SUCCESS);
  ASSERT_EQ(a->fill(y, 0, kCount * 4, true, why), TSR_SUCCESS);
  GraphWork work;
  GraphNode launch;
  launch.kind = GraphNode::Kind::Launch, launch.kernel = axpy();
  launch.values = axpyValues(x, y, 1.0f, kCount), launch.grid = {4, 1, 1};
  work.nodes = {launch};
  auto graph = context->createGraph(std::move(work), why);
  ASSERT_TRUE(graph) << why;
  for (int i = 0; i < 12; ++i) // b, b, a: with and without a change; nothing else orders the streams
    ASSERT_EQ((i % 3 == 2 ? a : b)->replay(graph, why), TSR_SUCCESS) << why;
  ASSERT_EQ(b->synchronize(UINT64_MAX, why), TSR_SUCCESS);
  EXPECT_EQ(read(*a, y, kCount), std::vector<float>(kCount, 12.0f));
}

TEST_F(BackendTest, ShowsTheBuildLog) {
  shimOf().configure("jit=fails");
  EXPECT_FALSE(load());
  EXPECT_THAT(why,
              testing::EndsWith("zeModuleCreate failed with ZE_RESULT_ERROR_MODULE_BUILD_FAILURE\nerror: "
                                "undefined reference to `planted'"));
  shimOf().configure("");
  const std::string text(128, 'x');
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_SPIRV, text.data(), text.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("error: the input is no SPIR-V module"));
  EXPECT_FALSE(context->loadModule({TSR_IMAGE_HSACO, text.data(), text.size(), "x", nullptr}, why));
  EXPECT_THAT(why, HasSubstr("backend levelzero loads no images of this format"));
}

TEST_F(BackendTest, ThreadsLaunchOneKernel) {
  auto kernel = axpy();
  std::vector<float> ones(256, 1.0f);
  void *x = alloc(1024);
  ASSERT_EQ(stream()->copy(x, ones.data(), 1024, true, why), TSR_SUCCESS);
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] { // arguments belong to the kernel until the launch is queued
      std::string text;
      void *y = nullptr;
      ASSERT_EQ(context->alloc(1024, TSR_MEM_DEVICE, &y, text), TSR_SUCCESS);
      {
        auto own = context->createStream(text);
        EXPECT_EQ(own->fill(y, 0, 1024, false, text), TSR_SUCCESS);
        for (int i = 0; i < 50; ++i)
          EXPECT_EQ(own->launch(kernel, axpyValues(x, y, static_cast<float>(t), 256).data(), {4, 1, 1}, text),
                    TSR_SUCCESS)
              << text;
        std::vector<float> found(256);
        EXPECT_EQ(own->copy(found.data(), y, 1024, true, text), TSR_SUCCESS);
        EXPECT_EQ(found, std::vector<float>(256, 50.0f * static_cast<float>(t)));
      }
      EXPECT_EQ(context->free(y, text), TSR_SUCCESS);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace tessera
