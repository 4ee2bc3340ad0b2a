// Each rule of the shims of CUDA and HIP, broken once by a program that uses the driver's interface wrongly.
#include "tests/shims/test/RulesFixture.h"

namespace tessera {
namespace {

TEST_F(RulesTest, HandlesAreOfTheirKind) {
  EXPECT_NE(api.streamSynchronize(reinterpret_cast<Vendor::Driver::Stream>(host)), 0);
  broke("bad-handle");
}
TEST_F(RulesTest, DestroyedObjectsAreNotUsed) {
  Vendor::Driver::Event event;
  ASSERT_EQ(api.eventCreate(&event, 0), 0);
  ASSERT_EQ(api.eventDestroy(event), 0);
  EXPECT_NE(api.eventRecord(event, stream), 0);
  broke("use-after-destroy");
  EXPECT_NE(api.eventDestroy(event), 0);
  broke("use-after-destroy");
}
TEST_F(RulesTest, EverythingIsDestroyed) {
  Vendor::Driver::Event event;
  ASSERT_EQ(api.eventCreate(&event, 0), 0);
  EXPECT_THAT(shim.leaks(), HasSubstr("leak: 1 of kind event left"));
  ASSERT_EQ(api.eventDestroy(event), 0);
}
TEST_F(RulesTest, MemoryIsFreedOnce) {
  EXPECT_NE(api.releaseBytes(host), 0);
  broke("bad-free");
  void *other = nullptr;
  ASSERT_EQ(api.allocateBytes(&other, 64), 0);
  ASSERT_EQ(api.releaseBytes(other), 0);
  EXPECT_NE(api.releaseBytes(other), 0);
  broke("double-free");
  EXPECT_NE(api.fillBytes(other, 0, 4, stream), 0);
  broke("use-after-free");
}
TEST_F(RulesTest, MemoryInUseIsNotFreed) {
  ASSERT_EQ(api.fillBytes(block, 0, 4096, stream), 0);
  ASSERT_EQ(api.releaseBytes(block), 0);
  broke("free-in-use");
  block = nullptr;
}
TEST_F(RulesTest, CopiesStayInsideAndDoNotOverlap) {
  EXPECT_NE(api.copyBytes(at(4000), host, 97, stream), 0);
  broke("out-of-bounds");
  EXPECT_EQ(api.copyBytes(at(8), block, 64, stream), 0);
  broke("overlap");
  EXPECT_NE(api.fillBytes(host, 0, 64, stream), 0);
  broke("host-address");
}
TEST_F(RulesTest, TheHostWaitsForWhatItReads) {
  ASSERT_EQ(api.fillBytes(block, 7, 64, stream), 0);
  ASSERT_EQ(api.copyBytes(host, block, 64, stream), 0);
  Vendor::Driver::Event event;
  ASSERT_EQ(api.eventCreate(&event, 0), 0);
  EXPECT_NE(shim::peek(&host[63]), 7); // not yet
  ASSERT_EQ(api.eventRecord(event, stream), 0);
  ASSERT_EQ(api.eventSynchronize(event), 0);
  EXPECT_EQ(host[63], 7);
  ASSERT_EQ(api.eventDestroy(event), 0);
}
TEST_F(RulesTest, WaitsOfOtherStreamsCoverCopies) {
  Vendor::Driver::Stream other;
  Vendor::Driver::Event event;
  ASSERT_EQ(api.streamCreate(&other, 1), 0);
  ASSERT_EQ(api.eventCreate(&event, 0), 0);
  ASSERT_EQ(api.fillBytes(block, 7, 64, other), 0);
  ASSERT_EQ(api.copyBytes(host, block, 64, other), 0);
  ASSERT_EQ(api.streamSynchronize(stream), 0); // has nothing to do with it
  EXPECT_NE(shim::peek(&host[63]), 7);
  ASSERT_EQ(api.eventRecord(event, other), 0);
  ASSERT_EQ(api.streamWait(stream, event, 0), 0);
  ASSERT_EQ(api.streamSynchronize(stream), 0);
  EXPECT_EQ(host[63], 7);
  ASSERT_EQ(api.streamSynchronize(other), 0);
  ASSERT_EQ(api.streamDestroy(other), 0);
  ASSERT_EQ(api.eventDestroy(event), 0);
}
TEST_F(RulesTest, StreamsAreIdleWhenDestroyed) {
  Vendor::Driver::Stream other;
  ASSERT_EQ(api.streamCreate(&other, 1), 0);
  ASSERT_EQ(api.fillBytes(block, 0, 64, other), 0);
  ASSERT_EQ(api.streamDestroy(other), 0);
  broke("destroy-busy");
  ASSERT_EQ(api.releaseBytes(block), 0);
  broke("free-in-use"); // nobody has waited for that fill
  block = nullptr;
}
TEST_F(RulesTest, LaunchesAreAsTheKernelWasCompiled) {
  Vendor::Driver::Function axpy = load("tsr_kernel_axpy");
  EXPECT_NE(launchWith(axpy, 32, 0, {address(block), address(block), 0, 16}, 32), 0);
  broke("block");
  EXPECT_NE(launchWith(axpy, 64, 0, {address(block), address(block), 0, 16}, 32, 2), 0);
  broke("grid");
  EXPECT_NE(launchWith(axpy, 64, 16, {address(block), address(block), 0, 16}, 32), 0);
  broke("shared");
  EXPECT_NE(launchWith(axpy, 64, 0, {address(block), address(block), 0, 16}, 24), 0);
  broke("parameters");
  EXPECT_NE(launchWith(axpy, 64, 0, {address(host), address(block), 0, 16}, 32), 0);
  broke("host-address");
  EXPECT_NE(launchWith(axpy, 64, 0, {uint64_t{1} << 46, address(block), 0, 16}, 32), 0);
  broke("host-address"); // of no allocation
  Vendor::Driver::Module used = module;
  Vendor::Driver::Function dynamic = load("tsr_kernel_dynamic");
  EXPECT_NE(launchWith(dynamic, 32, 0, {address(block)}, 8), 0);
  broke("shared");
  ASSERT_EQ(launchWith(axpy, 64, 0, {address(block), address(block), 0, 16}, 32), 0);
  ASSERT_EQ(api.moduleUnload(used), 0);
  broke("unload-in-use");
  EXPECT_NE(launchWith(axpy, 64, 0, {address(block), address(block), 0, 16}, 32), 0);
  broke("use-after-destroy");
  ASSERT_EQ(api.moduleUnload(module), 0);
}
TEST_F(RulesTest, OnlyImagesOfTheTableAreExecuted) {
  std::string image = shim::contentsOf(Vendor::kImage);
  image.back() ^= 1; // of the end, which nothing reads
  ASSERT_EQ(api.load(&module, image), 0);
  Vendor::Driver::Function axpy = nullptr;
  ASSERT_EQ(api.moduleFunction(&axpy, module, "tsr_kernel_axpy"), 0);
  EXPECT_NE(launchWith(axpy, 64, 0, {address(block), address(block), 0, 16}, 32), 0);
  broke("unknown-image");
  ASSERT_EQ(api.moduleUnload(module), 0);
}
TEST_F(RulesTest, RecordingStreamsAreNotWaitedFor) {
  ASSERT_EQ(api.captureBegin(stream, 1), 0);
  EXPECT_NE(api.streamSynchronize(stream), 0);
  broke("recording");
  Vendor::Recording graph = nullptr;
  ASSERT_EQ(api.captureEnd(stream, &graph), 0);
  EXPECT_NE(api.captureEnd(stream, &graph), 0);
  broke("recording");
  ASSERT_EQ(api.graphDestroy(graph), 0);
}
TEST_F(RulesTest, ParametersHaveValues) {
  Vendor::Driver::Function axpy = load("tsr_kernel_axpy");
  EXPECT_NE(api.launchSeparately(stream, axpy), 0);
  broke("parameters");
  ASSERT_EQ(api.moduleUnload(module), 0);
}

} // namespace
} // namespace tessera
