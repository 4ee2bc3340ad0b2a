// Each rule of CUDA's shim, broken once by a program that uses the driver's API wrongly.
#include "plugins/ptx/runtime/CudaApi.h"
#include "tests/shims/test/Shim.h"
#include <gmock/gmock.h>
#include <vector>

namespace tessera::ptx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CudaRules : public testing::Test {
protected:
  void SetUp() override {
#define CALL(member, symbol, parameters) member = shim.find<ptx::Result parameters>(symbol);
    TESSERA_CUDA_CALLS(CALL)
#undef CALL
    shim.configure("devices=2");
    ASSERT_EQ(init(0), 0);
    ASSERT_EQ(contextRetain(&first, 0), 0);
    ASSERT_EQ(contextRetain(&second, 1), 0);
    ASSERT_EQ(contextPush(first), 0);
    ASSERT_EQ(streamCreate(&stream, 1), 0);
    ASSERT_EQ(allocate(&block, 4096), 0);
  }
  void TearDown() override {
    streamSynchronize(stream);
    streamDestroy(stream);
    if (block) release(block);
    ptx::CudaContext *popped;
    contextPop(&popped);
    contextRelease(0), contextRelease(1);
    EXPECT_EQ(shim.leaks(), "");
  }
  ptx::CudaFunction *load(const char *name) {
    const std::string image = shim::contentsOf(SHIM_TABLE "/kernels.image");
    EXPECT_EQ(moduleLoad(&module, image.c_str(), 0, nullptr, nullptr), 0);
    ptx::CudaFunction *out = nullptr;
    EXPECT_EQ(moduleFunction(&out, module, name), 0);
    return out;
  }
  int launchWith(ptx::CudaFunction *function, unsigned threads, unsigned shared, std::vector<uint64_t> values,
                 size_t bytes, unsigned blocksAlongY = 1) {
    ptx::LaunchConfig config{{1, blocksAlongY, 1}, {threads, 1, 1}, shared, stream, nullptr, 0};
    void *extra[] = {ptx::kParameterBuffer, values.data(), ptx::kParameterBytes, &bytes, ptx::kParameterEnd};
    return launch(&config, function, nullptr, extra);
  }
  /// The only breach so far is one of this rule.
  void broke(const char *rule) {
    const std::string found = shim.breaches();
    EXPECT_THAT(found, StartsWith(std::string(rule) + ": "));
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }

  const shim::Shim shim{"libcuda.so.1"};
#define CALL(member, symbol, parameters) ptx::Result(*member) parameters = nullptr;
  TESSERA_CUDA_CALLS(CALL)
#undef CALL
  ptx::CudaContext *first = nullptr, *second = nullptr;
  ptx::CudaStream *stream = nullptr;
  ptx::CudaModule *module = nullptr;
  ptx::CudaAddress block = 0;
  unsigned char host[4096] = {};
};

ptx::CudaAddress at(const void *p) { return reinterpret_cast<ptx::CudaAddress>(p); }

TEST_F(CudaRules, HandlesAreOfTheirKind) {
  EXPECT_NE(streamSynchronize(reinterpret_cast<ptx::CudaStream *>(first)), 0);
  broke("bad-handle");
}
TEST_F(CudaRules, DestroyedObjectsAreNotUsed) {
  ptx::CudaEvent *event;
  ASSERT_EQ(eventCreate(&event, 0), 0);
  ASSERT_EQ(eventDestroy(event), 0);
  EXPECT_NE(eventRecord(event, stream), 0);
  broke("use-after-destroy");
  EXPECT_NE(eventDestroy(event), 0);
  broke("use-after-destroy");
}
TEST_F(CudaRules, EverythingIsDestroyed) {
  ptx::CudaEvent *event;
  ASSERT_EQ(eventCreate(&event, 0), 0);
  EXPECT_THAT(shim.leaks(), HasSubstr("leak: 1 of kind event left"));
  ASSERT_EQ(eventDestroy(event), 0);
}
TEST_F(CudaRules, CallsHaveAContext) {
  ptx::CudaContext *popped;
  ASSERT_EQ(contextPop(&popped), 0);
  EXPECT_NE(streamQuery(stream), 0);
  broke("no-context");
  ASSERT_EQ(contextPush(first), 0);
}
TEST_F(CudaRules, ObjectsStayInTheirContext) {
  ASSERT_EQ(contextPush(second), 0);
  EXPECT_NE(fill(block, 0, 4, stream), 0);
  broke("wrong-context");
  ptx::CudaStream *own;
  ASSERT_EQ(streamCreate(&own, 1), 0);
  EXPECT_NE(fill(block, 0, 4, own), 0); // memory of the other device
  broke("wrong-context");
  ASSERT_EQ(enablePeer(first, 0), 0);
  EXPECT_EQ(fill(block, 0, 4, own), 0);
  EXPECT_EQ(shim.breaches(), "");
  streamSynchronize(own);
  streamDestroy(own);
  ptx::CudaContext *popped;
  contextPop(&popped);
}
TEST_F(CudaRules, MemoryIsFreedOnce) {
  EXPECT_NE(release(at(host)), 0);
  broke("bad-free");
  ptx::CudaAddress other;
  ASSERT_EQ(allocate(&other, 64), 0);
  ASSERT_EQ(release(other), 0);
  EXPECT_NE(release(other), 0);
  broke("double-free");
  EXPECT_NE(fill(other, 0, 4, stream), 0);
  broke("use-after-free");
}
TEST_F(CudaRules, MemoryInUseIsNotFreed) {
  ASSERT_EQ(fill(block, 0, 4096, stream), 0);
  ASSERT_EQ(release(block), 0);
  broke("free-in-use");
  block = 0;
}
TEST_F(CudaRules, CopiesStayInsideAndDoNotOverlap) {
  EXPECT_NE(copy(block + 4000, at(host), 97, stream), 0);
  broke("out-of-bounds");
  EXPECT_EQ(copy(block + 8, block, 64, stream), 0);
  broke("overlap");
  EXPECT_NE(fill(at(host), 0, 64, stream), 0);
  broke("host-address");
}
TEST_F(CudaRules, TheHostWaitsForWhatItReads) {
  ASSERT_EQ(fill(block, 7, 64, stream), 0);
  ASSERT_EQ(copy(at(host), block, 64, stream), 0);
  ptx::CudaEvent *event;
  ASSERT_EQ(eventCreate(&event, 0), 0);
  EXPECT_NE(host[63], 7); // not yet
  ASSERT_EQ(eventRecord(event, stream), 0);
  ASSERT_EQ(eventSynchronize(event), 0);
  EXPECT_EQ(host[63], 7);
  ASSERT_EQ(eventDestroy(event), 0);
}
TEST_F(CudaRules, WaitsOfOtherStreamsCoverCopies) {
  ptx::CudaStream *other;
  ptx::CudaEvent *event;
  ASSERT_EQ(streamCreate(&other, 1), 0);
  ASSERT_EQ(eventCreate(&event, 0), 0);
  ASSERT_EQ(fill(block, 7, 64, other), 0);
  ASSERT_EQ(copy(at(host), block, 64, other), 0);
  ASSERT_EQ(streamSynchronize(stream), 0); // has nothing to do with it
  EXPECT_NE(host[63], 7);
  ASSERT_EQ(eventRecord(event, other), 0);
  ASSERT_EQ(streamWait(stream, event, 0), 0);
  ASSERT_EQ(streamSynchronize(stream), 0);
  EXPECT_EQ(host[63], 7);
  ASSERT_EQ(streamSynchronize(other), 0);
  ASSERT_EQ(streamDestroy(other), 0);
  ASSERT_EQ(eventDestroy(event), 0);
}
TEST_F(CudaRules, StreamsAreIdleWhenDestroyed) {
  ptx::CudaStream *other;
  ASSERT_EQ(streamCreate(&other, 1), 0);
  ASSERT_EQ(fill(block, 0, 64, other), 0);
  ASSERT_EQ(streamDestroy(other), 0);
  broke("destroy-busy");
  ASSERT_EQ(release(block), 0);
  broke("free-in-use"); // nobody has waited for that fill
  block = 0;
}
TEST_F(CudaRules, LaunchesAreAsTheKernelWasCompiled) {
  ptx::CudaFunction *axpy = load("tsr_kernel_axpy");
  EXPECT_NE(launchWith(axpy, 32, 0, {block, block, 0, 16}, 32), 0);
  broke("block");
  EXPECT_NE(launchWith(axpy, 64, 0, {block, block, 0, 16}, 32, 2), 0);
  broke("grid");
  EXPECT_NE(launchWith(axpy, 64, 16, {block, block, 0, 16}, 32), 0);
  broke("shared");
  EXPECT_NE(launchWith(axpy, 64, 0, {block, block, 0, 16}, 24), 0);
  broke("parameters");
  EXPECT_NE(launchWith(axpy, 64, 0, {at(host), block, 0, 16}, 32), 0);
  broke("host-address");
  EXPECT_NE(launchWith(axpy, 64, 0, {uint64_t{1} << 46, block, 0, 16}, 32), 0);
  broke("host-address"); // of no allocation
  ptx::CudaModule *used = module;
  ptx::CudaFunction *dynamic = load("tsr_kernel_dynamic");
  EXPECT_NE(launchWith(dynamic, 32, 0, {block}, 8), 0);
  broke("shared");
  ASSERT_EQ(launchWith(axpy, 64, 0, {block, block, 0, 16}, 32), 0);
  ASSERT_EQ(moduleUnload(used), 0);
  broke("unload-in-use");
  EXPECT_NE(launchWith(axpy, 64, 0, {block, block, 0, 16}, 32), 0);
  broke("use-after-destroy");
  ASSERT_EQ(moduleUnload(module), 0);
}
TEST_F(CudaRules, OnlyImagesOfTheTableAreExecuted) {
  std::string image = shim::contentsOf(SHIM_TABLE "/kernels.image") + " ";
  ASSERT_EQ(moduleLoad(&module, image.c_str(), 0, nullptr, nullptr), 0);
  ptx::CudaFunction *axpy = nullptr;
  ASSERT_EQ(moduleFunction(&axpy, module, "tsr_kernel_axpy"), 0);
  EXPECT_NE(launchWith(axpy, 64, 0, {block, block, 0, 16}, 32), 0);
  broke("unknown-image");
  ASSERT_EQ(moduleUnload(module), 0);
}
TEST_F(CudaRules, RecordingStreamsAreNotWaitedFor) {
  ASSERT_EQ(captureBegin(stream, 1), 0);
  EXPECT_NE(streamSynchronize(stream), 0);
  broke("recording");
  ptx::CudaGraph *graph = nullptr;
  ASSERT_EQ(captureEnd(stream, &graph), 0);
  EXPECT_NE(captureEnd(stream, &graph), 0);
  broke("recording");
  ASSERT_EQ(graphDestroy(graph), 0);
}
TEST_F(CudaRules, ContextsAreReleasedOnce) {
  ptx::CudaContext *again = nullptr;
  ASSERT_EQ(contextRetain(&again, 1), 0);
  ASSERT_EQ(contextRelease(1), 0);
  ASSERT_EQ(contextRelease(1), 0);
  EXPECT_NE(contextRelease(1), 0);
  broke("double-release");
  ASSERT_EQ(contextRetain(&again, 1), 0);
}

} // namespace
} // namespace tessera::ptx
