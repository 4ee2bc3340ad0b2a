// Each rule of Level Zero's shim, broken once by a program that uses the interface wrongly.
#include "tests/shims/test/ZeRulesFixture.h"
#include <thread>

namespace tessera::levelzero {
namespace {

using testing::HasSubstr;

TEST_F(ZeRules, NothingIsCalledBeforeInitialization) {
  shim.configure("devices=0");
  ASSERT_NE(api.init(1), 0);
  uint32_t count = 0;
  (void)api.drivers(&count, nullptr);
  broke("not-initialized");
  shim.configure("devices=2");
  ASSERT_EQ(api.init(1), 0);
}
TEST_F(ZeRules, HandlesAreOfTheirKind) {
  EXPECT_NE(api.listDestroy(event), 0);
  broke("bad-handle");
  EXPECT_NE(api.deviceStatus(host), 0);
  broke("bad-handle");
}
TEST_F(ZeRules, DestroyedObjectsAreNotUsed) {
  Handle other = newEvent(1);
  ASSERT_EQ(api.eventDestroy(other), 0);
  EXPECT_NE(barrier(other), 0);
  broke("use-after-destroy");
}
TEST_F(ZeRules, EverythingIsDestroyed) {
  Handle other = newEvent(1);
  EXPECT_THAT(shim.leaks(), HasSubstr("leak: 2 of kind event left")); // with the fixture's
  ASSERT_EQ(api.eventDestroy(other), 0);
}
TEST_F(ZeRules, StructsSayWhatTheyAre) {
  auto wrong = ofType<ComputeProperties>(type::kModuleProperties);
  EXPECT_NE(api.computeProperties(devices[0], &wrong), 0);
  broke("struct-type");
}
TEST_F(ZeRules, MemoryIsFreedOnce) {
  EXPECT_NE(api.release(context, host), 0);
  broke("bad-free");
  void *other = allocate();
  ASSERT_EQ(api.release(context, other), 0);
  EXPECT_NE(api.release(context, other), 0);
  broke("double-free");
  EXPECT_NE(fill(other, 4), 0);
  broke("use-after-free");
}
TEST_F(ZeRules, MemoryInUseIsNotFreed) {
  ASSERT_EQ(fill(block, 4096), 0);
  ASSERT_EQ(api.release(context, block), 0);
  broke("free-in-use");
  block = nullptr;
}
TEST_F(ZeRules, MemoryStaysInItsContext) {
  const ContextDescription description{{type::kContext, nullptr}, 0};
  Handle own = list, other = nullptr;
  std::swap(other, context);
  ASSERT_EQ(api.contextCreate(driver, &description, &context), 0);
  list = newList();
  EXPECT_NE(fill(block, 4), 0);
  broke("wrong-context");
  ASSERT_EQ(api.listDestroy(list), 0);
  ASSERT_EQ(api.contextDestroy(context), 0);
  std::swap(other, context), list = own;
  void *there = allocate(1); // of the other device in the same context
  EXPECT_EQ(fill(there, 4), 0);
  synchronize();
  ASSERT_EQ(api.release(context, there), 0);
}
TEST_F(ZeRules, CopiesStayInsideAndDoNotOverlap) {
  EXPECT_NE(copy(static_cast<char *>(block) + 4000, host, 97), 0);
  broke("out-of-bounds");
  ASSERT_EQ(barrier(), 0);
  EXPECT_EQ(copy(static_cast<char *>(block) + 8, block, 64), 0);
  broke("overlap");
  EXPECT_NE(fill(host, 64), 0);
  broke("host-address");
}
TEST_F(ZeRules, CommandsOnOneMemoryHaveABarrierBetween) {
  ASSERT_EQ(fill(block, 64, 7), 0);
  EXPECT_EQ(copy(host, block, 64), 0);
  broke("unordered");
  ASSERT_EQ(barrier(), 0);
  EXPECT_EQ(fill(block, 64), 0);
  EXPECT_EQ(shim.breaches(), "");
}
TEST_F(ZeRules, TheHostWaitsForWhatItReads) {
  ASSERT_EQ(fill(block, 64, 7), 0);
  ASSERT_EQ(barrier(), 0);
  ASSERT_EQ(copy(host, block, 64), 0);
  EXPECT_NE(shim::peek(&host[63]), 7); // not yet
  synchronize();
  EXPECT_EQ(host[63], 7);
}
TEST_F(ZeRules, ListsAreIdleWhenDestroyed) {
  Handle own = list;
  list = newList();
  ASSERT_EQ(fill(block, 64), 0);
  ASSERT_EQ(api.listDestroy(list), 0);
  broke("destroy-busy");
  list = own;
  ASSERT_EQ(api.release(context, block), 0);
  broke("free-in-use"); // nobody has waited for that fill
  block = nullptr;
}
TEST_F(ZeRules, ListsTakeKernelsAndDoNotBlock) {
  (void)newList(0, 0);
  broke("queue");
  (void)newList(0, 1, 1); // synchronous
  broke("queue");
}
/// The shim reads them from the module that it is handed.
TEST_F(ZeRules, SubGroupsAreThoseOfTheImage) {
  for (const auto &[name, lanes] : {std::pair("tsr_kernel_axpy", 16u), std::pair("tsr_kernel_total", 0u)}) {
    Handle kernel = load(name);
    auto properties = ofType<KernelProperties>(type::kKernelProperties);
    EXPECT_EQ(api.kernelProperties(kernel, &properties), 0);
    EXPECT_EQ(properties.subGroupSize, lanes) << name;
    unload(kernel);
  }
  Handle kernel = load("tsr_kernel_axpy"), other = nullptr;
  const KernelDescription wide{{type::kKernel, nullptr}, 0, "tsr_kernel_wide"};
  EXPECT_NE(api.kernelCreate(module, &wide, &other), 0);
  broke("sub-group");
  unload(kernel);
}
TEST_F(ZeRules, CommandsHaveNoEventsOfTheirOwn) {
  EXPECT_NE(api.copy(list, block, host, 4, event, 0, nullptr), 0);
  broke("events");
}
TEST_F(ZeRules, EventsAreResetBetweenSignals) {
  synchronize();
  EXPECT_NE(barrier(event), 0);
  broke("not-reset");
}
TEST_F(ZeRules, SomethingSignalsWhatIsAwaited) {
  Handle other = newEvent(1);
  EXPECT_NE(api.eventSynchronize(other, 0), 0);
  broke("never-signalled");
  EXPECT_NE(api.barrier(list, nullptr, 1, &other), 0);
  broke("never-signalled");
  ASSERT_EQ(api.eventDestroy(other), 0);
}
TEST_F(ZeRules, PoolsOutliveTheirEvents) {
  EXPECT_FALSE(newEvent(0)); // whose place the fixture's event has
  broke("pool-place");
  (void)newPool(flag::kKernelTimestamp);
  broke("host-visible");
  Handle own = pool;
  pool = newPool(flag::kHostVisible);
  Handle other = newEvent(2);
  ASSERT_EQ(barrier(other), 0);
  ASSERT_EQ(api.eventSynchronize(other, UINT64_MAX), 0);
  Timestamps times;
  EXPECT_NE(api.eventTimestamps(other, &times), 0);
  broke("no-timestamp");
  ASSERT_EQ(api.poolDestroy(pool), 0);
  broke("pool-in-use");
  pool = own;
  ASSERT_EQ(api.eventDestroy(other), 0);
}
TEST_F(ZeRules, LaunchesAreAsTheKernelWasCompiled) {
  Handle axpy = load("tsr_kernel_axpy");
  const GroupCount one{1, 1, 1};
  EXPECT_NE(api.launch(list, axpy, &one, nullptr, 0, nullptr), 0); // no argument is set
  broke("parameters");
  const uint64_t value = 0;
  EXPECT_NE(api.setArgument(axpy, 4, 8, &value), 0);
  broke("parameters");
  EXPECT_NE(api.setArgument(axpy, 2, 8, &value), 0); // of a float
  broke("parameters");
  EXPECT_NE(launch(axpy, block, block, 32), 0);
  broke("block");
  ASSERT_EQ(barrier(), 0);
  EXPECT_NE(launch(axpy, host, block), 0);
  broke("host-address");
  ASSERT_EQ(barrier(), 0);
  ASSERT_EQ(launch(axpy, block, block), 0);
  ASSERT_EQ(api.kernelDestroy(axpy), 0);
  ASSERT_EQ(api.moduleDestroy(module), 0);
  broke("unload-in-use");
}
TEST_F(ZeRules, MemoryOfTheGroupHasASizeAndNoValue) {
  Handle dynamic = load("tsr_kernel_dynamic");
  EXPECT_NE(api.setArgument(dynamic, 1, 8, &block), 0);
  broke("parameters");
  EXPECT_EQ(api.setArgument(dynamic, 1, 64, nullptr), 0);
  unload(dynamic);
}
TEST_F(ZeRules, KernelsAreDestroyedBeforeTheirModule) {
  Handle axpy = load("tsr_kernel_axpy");
  ASSERT_EQ(api.moduleDestroy(module), 0);
  EXPECT_NE(launch(axpy, block, block), 0);
  broke("use-after-destroy");
  ASSERT_EQ(api.kernelDestroy(axpy), 0);
  broke("use-after-destroy");
}
TEST_F(ZeRules, OneThreadAtATimeSetsArguments) {
  Handle axpy = load("tsr_kernel_axpy");
  ASSERT_EQ(api.setArgument(axpy, 0, 8, &block), 0);
  std::thread([&] { EXPECT_NE(api.setArgument(axpy, 1, 8, &block), 0); }).join();
  broke("threads");
  unload(axpy);
}
TEST_F(ZeRules, OnlyImagesOfTheTableAreExecuted) {
  std::string image = shim::contentsOf(shim::Vendor::kImage);
  image += std::string("\x38\x00\x01\x00", 4); // OpFunctionEnd, which nothing reads
  const ModuleDescription description{
      {type::kModule, nullptr}, 0, image.size(), image.data(), kFlags, nullptr};
  ASSERT_EQ(api.moduleCreate(context, devices[0], &description, &module, nullptr), 0);
  const KernelDescription own{{type::kKernel, nullptr}, 0, "tsr_kernel_axpy"};
  Handle axpy = nullptr;
  ASSERT_EQ(api.kernelCreate(module, &own, &axpy), 0);
  EXPECT_NE(launch(axpy, block, block), 0);
  broke("unknown-image");
  unload(axpy);
}
TEST_F(ZeRules, ModulesAreBuiltToRoundCorrectly) {
  unload(load("tsr_kernel_axpy", "-ze-opt-large-register-file"));
  broke("rounding");
}
TEST_F(ZeRules, KernelsThatSpillGetTheLargeRegisterFile) {
  shim.configure("devices=2 spills=512");
  Handle axpy = load("tsr_kernel_axpy");
  EXPECT_EQ(launch(axpy, block, block), 0);
  synchronize();
  broke("spills");
  unload(axpy);
}
TEST_F(ZeRules, LogsAreDestroyed) {
  Handle log = nullptr, none = nullptr;
  const ModuleDescription description{{type::kModule, nullptr}, 0, 4, "nope", "", nullptr};
  ASSERT_EQ(api.moduleCreate(context, devices[0], &description, &none, &log), result::kBuildFailure);
  EXPECT_THAT(shim.leaks(), HasSubstr("leak: 1 of kind build log left"));
  ASSERT_EQ(api.logDestroy(log), 0);
}

} // namespace
} // namespace tessera::levelzero
