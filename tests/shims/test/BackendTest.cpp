// GpuBackend over the driver of one vendor, with the shim in the driver's place: results, failures, limits,
// and that nothing it does breaks a rule of the driver.
#include "tests/shims/test/BackendFixture.h"

namespace tessera {
namespace {

constexpr size_t kCount = 1000;
const std::string kArch = Vendor::kArch;

TEST_F(BackendTest, LaunchesKernels) {
  auto s = stream();
  auto kernel = axpy();
  void *x = alloc(kCount * 4), *y = alloc(kCount * 4);
  std::vector<float> ones(kCount, 1.0f), twos(kCount, 2.0f);
  ASSERT_EQ(s->copy(x, ones.data(), kCount * 4, false, why), TSR_SUCCESS);
  ASSERT_EQ(s->copy(y, twos.data(), kCount * 4, false, why), TSR_SUCCESS);
  for (int i = 0; i < 200; ++i) // more than one batch of what is kept
    ASSERT_EQ(s->launch(kernel, axpyValues(x, y, 0.5f, kCount).data(), {(kCount + 63) / 64, 1, 1}, why),
              TSR_SUCCESS)
        << why;
  ASSERT_EQ(s->launch(kernel, axpyValues(x, y, 0.5f, kCount).data(), {0, 1, 1}, why), TSR_SUCCESS) << why;
  EXPECT_EQ(read(*s, y, kCount), std::vector<float>(kCount, 102.0f));
}

TEST_F(BackendTest, GivesWorkspace) {
  auto s = stream();
  KernelSpec total;
  total.name = "tsr_kernel_total", total.valueCount = 2, total.block[0] = 32;
  total.workspaceBytes = 64, total.sharedBytes = 1024;
  total.arguments = {{TSR_ARGUMENT_POINTER, 8, 0}, {TSR_ARGUMENT_POINTER, 8, 8}};
  auto module = load();
  auto first = module->getKernel(total, why);
  ASSERT_TRUE(first) << why;
  void *x = alloc(4000), *y = alloc(4000);
  std::vector<float> in(1000);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(i);
  ASSERT_EQ(s->copy(x, in.data(), 4000, false, why), TSR_SUCCESS);
  for (int64_t blocks : {1, 10, 1000}) { // the workspace grows while launches are queued
    const uint64_t values[] = {std::bit_cast<uint64_t>(x), std::bit_cast<uint64_t>(y)};
    ASSERT_EQ(s->launch(first, values, {blocks, 1, 1}, why), TSR_SUCCESS) << why;
  }
  std::vector<float> wanted = in; // the copy may still read `in`
  for (float &v : wanted)
    v *= 2;
  EXPECT_EQ(read(*s, y, 1000), wanted);
}

TEST_F(BackendTest, GivesDynamicSharedMemory) {
  KernelSpec dynamic;
  dynamic.name = "tsr_kernel_dynamic", dynamic.valueCount = 1, dynamic.block[0] = 32;
  dynamic.sharedBytes = dynamic.dynamicSharedBytes = std::min<uint64_t>(100 << 10, Vendor::kSharedBytes);
  auto s = stream();
  auto second = load()->getKernel(dynamic, why);
  ASSERT_TRUE(second) << why;
  void *y = alloc(128);
  const uint64_t values[] = {std::bit_cast<uint64_t>(y)};
  ASSERT_EQ(s->launch(second, values, {1, 1, 1}, why), TSR_SUCCESS) << why;
  EXPECT_EQ(read(*s, y, 32)[31], 31.0f);
}

TEST_F(BackendTest, RecordsGraphsAndReplaysOthers) {
  auto s = stream();
  auto kernel = axpy();
  void *x = alloc(kCount * 4), *y = alloc(kCount * 4);
  std::vector<float> ones(kCount, 1.0f);
  auto make = [&](void *from) {
    GraphWork work;
    GraphNode copy, fill, launch;
    copy.dst = x, copy.src = from, copy.bytes = kCount * 4;
    fill.kind = GraphNode::Kind::Fill, fill.dst = y, fill.bytes = kCount * 4;
    launch.kind = GraphNode::Kind::Launch, launch.kernel = kernel;
    launch.values = axpyValues(x, y, 3.0f, kCount), launch.grid = {16, 1, 1};
    work.nodes = {copy, fill, launch, launch};
    auto graph = context->createGraph(std::move(work), why);
    EXPECT_TRUE(graph) << why;
    return graph;
  };
  void *z = alloc(kCount * 4);
  ASSERT_EQ(s->copy(z, ones.data(), kCount * 4, true, why), TSR_SUCCESS);
  for (auto graph : {make(z), make(ones.data())}) { // the second reads the host, so it is not recorded
    ASSERT_EQ(s->fill(y, 1, kCount * 4, true, why), TSR_SUCCESS);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(s->replay(graph, why), TSR_SUCCESS) << why;
    EXPECT_EQ(read(*s, y, kCount), std::vector<float>(kCount, 6.0f));
    ASSERT_EQ(s->replay(graph, why), TSR_SUCCESS);
    graph.reset();                                           // the stream keeps it
    ASSERT_EQ(s->synchronize(UINT64_MAX, why), TSR_SUCCESS); // the replay reads `ones`
  }
}

TEST_F(BackendTest, FailedHostCallsDropWhatFollows) {
  auto s = stream(), other = stream();
  auto event = context->createEvent(why);
  std::shared_ptr<DeviceEvent> shared = std::move(event);
  void *x = alloc(4);
  float value = 5, next = 7, found = 0;
  std::atomic<bool> go{false};
  ASSERT_EQ(s->copy(x, &value, 4, true, why), TSR_SUCCESS);
  hold(*s, go, TSR_ETIMEOUT, "rank 3 is missing");
  ASSERT_EQ(s->copy(x, &next, 4, false, why), TSR_SUCCESS); // held, then dropped
  ASSERT_EQ(s->record(shared, why), TSR_SUCCESS);
  EXPECT_FALSE(shared->isDone());
  ASSERT_EQ(other->wait(shared, why), TSR_SUCCESS); // held in the other stream, too
  ASSERT_EQ(other->copy(&found, x, 4, false, why), TSR_SUCCESS);
  EXPECT_EQ(s->synchronize(1000000, why), TSR_ETIMEOUT);
  EXPECT_EQ(s->query(why), TSR_NOT_READY);
  go = true;
  EXPECT_EQ(other->synchronize(UINT64_MAX, why), TSR_SUCCESS) << why;
  EXPECT_EQ(found, 5.0f);
  EXPECT_EQ(s->synchronize(UINT64_MAX, why), TSR_ETIMEOUT);
  EXPECT_EQ(why, "rank 3 is missing");
  EXPECT_EQ(s->copy(x, &next, 4, true, why), TSR_SUCCESS) << why; // it was reported
  EXPECT_EQ(read(*s, x, 1)[0], 7.0f);
}

TEST_F(BackendTest, NativeStreamsTakeNoHostCalls) {
  auto s = stream();
  const char *api = nullptr;
  void *handle = nullptr;
  ASSERT_EQ(s->native(api, handle, why), TSR_SUCCESS);
  EXPECT_STREQ(api, Vendor::Driver::kStreamApi);
  EXPECT_TRUE(handle);
  EXPECT_EQ(s->callHost([](std::string &) { return TSR_SUCCESS; }, why), TSR_UNIMPLEMENTED);
}

TEST_F(BackendTest, EventsHaveTimes) {
  auto s = stream();
  std::shared_ptr<DeviceEvent> a = context->createEvent(why), b = context->createEvent(why);
  int64_t first = 0, second = 0;
  EXPECT_EQ(a->timestamp(first), TSR_EINVAL);
  const int64_t before = Activities::now();
  ASSERT_EQ(s->record(a, why), TSR_SUCCESS);
  ASSERT_EQ(s->record(b, why), TSR_SUCCESS);
  b->wait();
  ASSERT_EQ(a->timestamp(first), TSR_SUCCESS);
  ASSERT_EQ(b->timestamp(second), TSR_SUCCESS);
  EXPECT_LE(before - 1'000'000, first);
  EXPECT_LE(first, second);
  EXPECT_LE(second, Activities::now() + 1'000'000);
}

TEST_F(BackendTest, ReportsActivities) {
  auto s = stream();
  auto kernel = axpy();
  void *x = alloc(400), *y = alloc(400);
  std::vector<std::string> seen;
  context->tagActivities({7, 9});
  ASSERT_EQ(context->reportActivities(
                [&](const tsr_be_activity_t &a) {
                  seen.push_back(std::to_string(a.kind) + " " + a.name + " " + std::to_string(a.bytes) + " " +
                                 std::to_string(a.programs) + " " + std::to_string(a.tag[0]));
                  EXPECT_LE(a.begin_ns, a.end_ns);
                },
                why),
            TSR_SUCCESS);
  ASSERT_EQ(s->fill(x, 0, 400, false, why), TSR_SUCCESS);
  ASSERT_EQ(s->fill(y, 0, 300, false, why), TSR_SUCCESS);
  ASSERT_EQ(s->launch(kernel, axpyValues(x, y, 1, 75).data(), {2, 1, 1}, why), TSR_SUCCESS);
  ASSERT_EQ(s->synchronize(UINT64_MAX, why), TSR_SUCCESS);
  ASSERT_EQ(context->reportActivities(nullptr, why), TSR_SUCCESS);
  EXPECT_THAT(seen, testing::ElementsAre("2  400 0 7", "2  300 0 7", "0 axpy 0 2 7"));
}

// ---- Limits and failures ----

/// What the vendor's profiler was told; "" if it has no ranges.
template <class D> std::string rangesTold() {
  if constexpr (gpu::HasVendorRanges<D>) {
    Driver library = D::rangeLibrary();
    const char *(*told)() = nullptr;
    EXPECT_TRUE(library.find(told, "shimRangesTold")) << library.why();
    return told ? told() : "";
  }
  return "";
}

TEST_F(BackendTest, TellsTheVendorsProfilerOfRanges) {
  const std::string before = rangesTold<Vendor::Driver>();
  context->pushRange("step");
  context->pushRange("layer 1");
  context->popRange();
  context->popRange();
  EXPECT_EQ(rangesTold<Vendor::Driver>(),
            gpu::HasVendorRanges<Vendor::Driver> ? before + "step layer 1 pop pop " : "");
}

TEST_F(BackendTest, RefusesWhatTheDeviceCannotRun) {
  KernelSpec spec = axpySpec();
  spec.name = "tsr_kernel_missing";
  refused(spec, "kernel missing: the image has no kernel tsr_kernel_missing");
  spec = axpySpec();
  spec.block[0] = 2048;
  refused(spec, "kernel axpy: it has 2048 threads in a block, " + kArch + " takes 64" + Vendor::kOfKernel);
  spec = axpySpec();
  spec.sharedBytes = spec.dynamicSharedBytes = 200 << 10;
  refused(spec, "it needs 204800 bytes of shared memory, " + kArch + " has " +
                    std::to_string(Vendor::kSharedBytes));
  spec = axpySpec();
  spec.cluster[0] = 2;
  refused(spec, "its programs form clusters, which " + kArch + " does not have");
  spec = axpySpec();
  spec.arguments[3].offset = 8000;
  refused(spec,
          "it has 8008 bytes of parameters, " + kArch + " takes " + std::to_string(Vendor::kParameterBytes));
  auto s = stream();
  EXPECT_EQ(s->launch(axpy(), axpyValues(nullptr, nullptr, 1, 0).data(), {1 << 16, 1 << 15, 1}, why),
            TSR_EINVAL);
  EXPECT_THAT(
      why, HasSubstr("kernel axpy: a grid of 2147483648 programs; " + kArch + " takes at most 2147483647"));
}

TEST_F(BackendTest, APersistentKernelHasFewBlocks) {
  KernelSpec spec = axpySpec();
  spec.isPersistent = true;
  auto kernel = load()->getKernel(spec, why);
  ASSERT_NE(kernel, nullptr) << why;
  auto s = stream(); // more programs than a grid may have blocks
  EXPECT_EQ(s->launch(kernel, axpyValues(nullptr, nullptr, 1, 0).data(), {1 << 16, 1 << 15, 1}, why),
            TSR_SUCCESS)
      << why;
  EXPECT_EQ(s->synchronize(UINT64_MAX, why), TSR_SUCCESS) << why;
}

TEST_F(BackendTest, FreesIdleMemoryBeforeItGivesUp) {
  void *large = alloc(3 << 20), *p = nullptr;
  ASSERT_EQ(context->free(large, why), TSR_SUCCESS);
  EXPECT_GE(context->memoryUse().pooled, 3u << 20);
  shimOf().configure("oom=1"); // the first try; the second has what was idle
  EXPECT_EQ(context->alloc(5 << 20, TSR_MEM_DEVICE, &p, why), TSR_SUCCESS) << why;
  EXPECT_EQ(context->memoryUse().pooled, 0u);
  EXPECT_EQ(context->alloc(size_t{1} << 42, TSR_MEM_DEVICE, &p, why), TSR_EOOM);
  EXPECT_THAT(why, HasSubstr(std::string("cannot get 4398046511104 bytes: ") + Vendor::kOutOfMemory));
  EXPECT_EQ(context->alloc(4, TSR_MEM_MANAGED, &p, why), TSR_UNIMPLEMENTED);
  int local = 0;
  EXPECT_EQ(context->free(&local, why), TSR_EINVAL);
}

TEST_F(BackendTest, ALostDeviceIsReportedByEveryCall) {
  {
    auto s = stream();
    auto kernel = axpy();
    std::shared_ptr<DeviceEvent> event = context->createEvent(why);
    void *x = alloc(400);
    shimOf().configure("devices=2 lost=1");
    ASSERT_EQ(s->launch(kernel, axpyValues(x, x, 1, 100).data(), {2, 1, 1}, why), TSR_SUCCESS);
    ASSERT_EQ(s->synchronize(UINT64_MAX, why), TSR_EDEVICE);
    EXPECT_THAT(why, HasSubstr("the device failed and the context cannot be used any more: "));
    EXPECT_THAT(why, HasSubstr(Vendor::kLost));
    const std::string first = why;
    EXPECT_EQ(s->fill(x, 0, 4, true, why), TSR_EDEVICE);
    EXPECT_EQ(why, first);
    EXPECT_EQ(s->record(event, why), TSR_EDEVICE);
    EXPECT_TRUE(s->isIdle());
    void *p = nullptr;
    EXPECT_EQ(context->alloc(8 << 20, TSR_MEM_DEVICE, &p, why), TSR_EDEVICE);
  }
  auto create = [&](int device) { context = backend.createContext(device, nullptr, why); };
  context.reset();
  try {
    create(0);
    ADD_FAILURE() << "the process cannot use the device any more";
  } catch (const StatusError &e) {
    EXPECT_EQ(e.status(), TSR_EDEVICE);
    EXPECT_THAT(e.what(), HasSubstr(Vendor::kReopenLost));
  }
  create(1); // the other device works
  auto s = stream();
  void *x = alloc(4);
  EXPECT_EQ(s->fill(x, 0, 4, true, why), TSR_SUCCESS) << why;
}

TEST_F(BackendTest, ALostDeviceLeavesNobodyWaiting) {
  auto s = stream(), other = stream(), faulty = stream();
  auto kernel = axpy();
  std::shared_ptr<DeviceEvent> event = context->createEvent(why);
  void *x = alloc(400);
  std::atomic<bool> go{false};
  hold(*s, go);
  ASSERT_EQ(s->record(event, why), TSR_SUCCESS); // held, as is what follows
  ASSERT_EQ(other->wait(event, why), TSR_SUCCESS);
  std::thread waiting([&] {
    std::string text;
    EXPECT_EQ(s->fill(x, 0, 400, true, text), TSR_EDEVICE);
    EXPECT_THAT(text, HasSubstr("the device failed"));
  });
  shimOf().configure("lost=1");
  ASSERT_EQ(faulty->launch(kernel, axpyValues(x, x, 1, 100).data(), {2, 1, 1}, why), TSR_SUCCESS);
  ASSERT_EQ(faulty->synchronize(UINT64_MAX, why), TSR_EDEVICE);
  go = true;
  event->wait();
  EXPECT_TRUE(event->isDone());
  int64_t time = 0;
  EXPECT_EQ(event->timestamp(time), TSR_EINVAL);
  waiting.join();
  EXPECT_EQ(other->synchronize(UINT64_MAX, why), TSR_EDEVICE);
}

// ---- What is released when ----

TEST_F(BackendTest, ReleasesWithoutSynchronizationOfTheStream) {
  constexpr size_t kBytes = 4 << 20;
  auto s = stream();
  char *x = static_cast<char *>(alloc(kBytes + 8));
  const size_t before = context->memoryUse().inUse, events = shimOf().events();
  std::shared_ptr<DeviceEvent> event = context->createEvent(why);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(s->fill(x, 1, 64, false, why), TSR_SUCCESS);
    ASSERT_EQ(s->record(event, why), TSR_SUCCESS);
    event->wait();
  }
  EXPECT_LT(shimOf().events() - events, 100u); // a batch is 64
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(s->copy(x + 8, x, kBytes, false, why), TSR_SUCCESS); // by way of a block
    ASSERT_EQ(s->record(event, why), TSR_SUCCESS);
    event->wait();
  }
  EXPECT_LE(context->memoryUse().inUse, before + 2 * kBytes);
  while (s->query(why) == TSR_NOT_READY)
    std::this_thread::yield();
  EXPECT_EQ(context->memoryUse().inUse, before);
}

TEST_F(BackendTest, TakesWhatIsDoneBeforeItGivesUp) {
  static int room = 1; // blocks; static, because the context lives until TearDown
  static tsr_allocator_t allocator{};
  allocator.user = &room;
  allocator.alloc = [](void *user, size_t bytes, size_t) -> void * {
    int &left = *static_cast<int *>(user);
    return left ? --left, std::aligned_alloc(64, bytes) : nullptr;
  };
  allocator.free = [](void *user, void *p, size_t) { ++*static_cast<int *>(user), std::free(p); };
  context = backend.createContext(0, &allocator, why);
  auto s = stream();
  std::shared_ptr<DeviceEvent> event = context->createEvent(why);
  std::vector<char> host(200);
  for (int i = 0; i < 3; ++i) { // the second copy needs the block of the first
    ASSERT_EQ(s->copy(host.data() + 8, host.data(), 100, false, why), TSR_SUCCESS) << why;
    ASSERT_EQ(s->record(event, why), TSR_SUCCESS);
    event->wait();
  }
  void *p = nullptr;
  EXPECT_EQ(context->alloc(100, TSR_MEM_DEVICE, &p, why), TSR_SUCCESS) << why;
  EXPECT_EQ(context->alloc(100, TSR_MEM_DEVICE, &p, why), TSR_EOOM);
}

TEST_F(BackendTest, TrimReturnsWorkspacesOfIdleStreams) {
  auto s = stream();
  KernelSpec total;
  total.name = "tsr_kernel_total", total.valueCount = 2, total.block[0] = 32;
  total.workspaceBytes = 64, total.sharedBytes = 1024;
  total.arguments = {{TSR_ARGUMENT_POINTER, 8, 0}, {TSR_ARGUMENT_POINTER, 8, 8}};
  auto kernel = load()->getKernel(total, why);
  ASSERT_TRUE(kernel) << why;
  void *x = alloc(400), *y = alloc(400);
  const size_t before = context->memoryUse().inUse;
  const uint64_t values[] = {std::bit_cast<uint64_t>(x), std::bit_cast<uint64_t>(y)};
  for (int i = 0; i < 2; ++i) { // the second launch takes a new one
    ASSERT_EQ(s->launch(kernel, values, {100, 1, 1}, why), TSR_SUCCESS) << why;
    ASSERT_EQ(s->synchronize(UINT64_MAX, why), TSR_SUCCESS) << why;
    EXPECT_GT(context->memoryUse().inUse, before);
    context->trim();
    EXPECT_EQ(context->memoryUse().inUse, before);
  }
}

TEST_F(BackendTest, PeersAccessEachOther) {
  auto other = backend.createContext(1, nullptr, why);
  ASSERT_TRUE(other) << why;
  void *here = alloc(400), *there = nullptr;
  ASSERT_EQ(other->alloc(400, TSR_MEM_DEVICE, &there, why), TSR_SUCCESS);
  for (int i = 0; i < 2; ++i) // the second time it is enabled already
    ASSERT_EQ(context->enablePeer(*other, why), TSR_SUCCESS) << why;
  ASSERT_EQ(context->enablePeer(*context, why), TSR_SUCCESS);
  {
    auto theirs = other->createStream(why), s = stream();
    ASSERT_EQ(theirs->fill(there, 0x40, 400, true, why), TSR_SUCCESS);
    ASSERT_EQ(s->copy(here, there, 400, false, why), TSR_SUCCESS) << why;
    EXPECT_EQ(read(*s, here, 100), std::vector<float>(100, std::bit_cast<float>(0x40404040)));
  }
  ASSERT_EQ(other->free(there, why), TSR_SUCCESS);
}

TEST_F(BackendTest, PinnedMemoryIsSeenByBoth) {
  auto s = stream();
  void *pinned = nullptr, *x = alloc(4000);
  ASSERT_EQ(context->alloc(4000, TSR_MEM_PINNED_HOST, &pinned, why), TSR_SUCCESS) << why;
  EXPECT_EQ(context->available(static_cast<char *>(pinned) + 1000), 3000u);
  std::fill_n(static_cast<float *>(pinned), 1000, 3.0f);
  ASSERT_EQ(s->fill(x, 0, 4000, false, why), TSR_SUCCESS);
  ASSERT_EQ(s->launch(axpy(), axpyValues(pinned, x, 2.0f, 1000).data(), {16, 1, 1}, why), TSR_SUCCESS) << why;
  ASSERT_EQ(s->copy(pinned, x, 4000, true, why), TSR_SUCCESS);
  EXPECT_EQ(static_cast<float *>(pinned)[999], 6.0f);
  ASSERT_EQ(context->free(pinned, why), TSR_SUCCESS);
}

TEST_F(BackendTest, ThreadsShareStreamsAndMemory) {
  auto s = stream();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      std::string text;
      auto own = context->createStream(text);
      for (int i = 0; i < 20; ++i) {
        void *p = nullptr;
        ASSERT_EQ(context->alloc(1000, TSR_MEM_DEVICE, &p, text), TSR_SUCCESS);
        std::vector<unsigned char> found(1000);
        DeviceStream &used = i % 2 ? *own : *s;
        std::shared_ptr<DeviceEvent> event = context->createEvent(text);
        EXPECT_EQ(used.fill(p, static_cast<uint8_t>(t), 1000, false, text), TSR_SUCCESS);
        EXPECT_EQ(used.record(event, text), TSR_SUCCESS);
        EXPECT_EQ(own->wait(event, text), TSR_SUCCESS);
        EXPECT_EQ(own->copy(found.data(), p, 1000, true, text), TSR_SUCCESS);
        EXPECT_EQ(found, std::vector<unsigned char>(1000, static_cast<unsigned char>(t)));
        EXPECT_EQ(context->free(p, text), TSR_SUCCESS);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
} // namespace tessera
