// The objects with which the rules of Level Zero's shim are broken.
#pragma once
#include "tests/shims/test/Shim.h"
#include SHIM_VENDOR
#include <algorithm>
#include <gmock/gmock.h>
#include <string>

namespace tessera::levelzero {

class ZeRules : public testing::Test {
protected:
  void SetUp() override {
    Driver library({shim::Vendor::kLibrary});
    ASSERT_TRUE(api.find(library)) << library.why();
    shim.configure("devices=2");
    ASSERT_EQ(api.init(1), 0);
    uint32_t one = 1, two = 2;
    ASSERT_EQ(api.drivers(&one, &driver), 0);
    ASSERT_EQ(api.devices(driver, &two, devices), 0);
    const ContextDescription description{{type::kContext, nullptr}, 0};
    ASSERT_EQ(api.contextCreate(driver, &description, &context), 0);
    list = newList();
    block = allocate();
    pool = newPool(flag::kHostVisible | flag::kKernelTimestamp);
    event = newEvent(0);
  }
  void TearDown() override {
    synchronize();
    api.eventDestroy(event);
    api.poolDestroy(pool);
    api.listDestroy(list);
    if (block) api.release(context, block);
    api.contextDestroy(context);
    EXPECT_EQ(shim.leaks(), "");
  }
  Handle newList(int device = 0, uint32_t group = 1, int mode = flag::kAsynchronous) {
    const QueueDescription description{{type::kQueue, nullptr}, group, 0, 0, mode, 0};
    Handle out = nullptr;
    EXPECT_EQ(api.immediateCreate(context, devices[device], &description, &out) == 0,
              group == 1 && mode == 2);
    return out;
  }
  void *allocate(int device = 0) {
    const DeviceMemory description{{type::kDeviceMemory, nullptr}, 0, 0};
    void *out = nullptr;
    EXPECT_EQ(api.allocate(context, &description, 4096, 256, devices[device], &out), 0);
    return out;
  }
  Handle newPool(uint32_t flags) {
    const PoolDescription description{{type::kEventPool, nullptr}, flags, 4};
    Handle out = nullptr;
    EXPECT_EQ(api.poolCreate(context, &description, 1, devices, &out) == 0, (flags & 1) != 0);
    return out;
  }
  Handle newEvent(uint32_t place) {
    const EventDescription description{{type::kEvent, nullptr}, place, flag::kHostScope, flag::kHostScope};
    Handle out = nullptr;
    (void)api.eventCreate(pool, &description, &out);
    return out;
  }
  int fill(void *p, size_t bytes, unsigned char byte = 0) {
    return api.fill(list, p, &byte, 1, bytes, nullptr, 0, nullptr);
  }
  int copy(void *dst, const void *src, size_t bytes) {
    return api.copy(list, dst, src, bytes, nullptr, 0, nullptr);
  }
  int barrier(Handle signals = nullptr) { return api.barrier(list, signals, 0, nullptr); }
  void synchronize() {
    EXPECT_EQ(api.eventReset(event), 0);
    EXPECT_EQ(barrier(event), 0);
    EXPECT_EQ(api.eventSynchronize(event, UINT64_MAX), 0);
  }
  Handle load(const char *name, const char *flags = kFlags) {
    const std::string image = shim::contentsOf(shim::Vendor::kImage);
    const ModuleDescription description{
        {type::kModule, nullptr}, 0, image.size(), image.data(), flags, nullptr};
    EXPECT_EQ(api.moduleCreate(context, devices[0], &description, &module, nullptr), 0);
    const KernelDescription own{{type::kKernel, nullptr}, 0, name};
    Handle out = nullptr;
    EXPECT_EQ(api.kernelCreate(module, &own, &out), 0);
    return out;
  }
  /// Launches axpy with all of its arguments.
  int launch(Handle kernel, void *x, void *y, uint32_t threads = 64) {
    const float alpha = 0;
    const uint64_t n = 16;
    EXPECT_EQ(api.setGroupSize(kernel, threads, 1, 1), 0);
    EXPECT_EQ(api.setArgument(kernel, 0, 8, &x), 0);
    EXPECT_EQ(api.setArgument(kernel, 1, 8, &y), 0);
    EXPECT_EQ(api.setArgument(kernel, 2, 4, &alpha), 0);
    EXPECT_EQ(api.setArgument(kernel, 3, 8, &n), 0);
    const GroupCount one{1, 1, 1};
    return api.launch(list, kernel, &one, nullptr, 0, nullptr);
  }
  void unload(Handle kernel) {
    EXPECT_EQ(api.kernelDestroy(kernel), 0);
    EXPECT_EQ(api.moduleDestroy(module), 0);
  }
  /// The only breach so far is one of this rule.
  void broke(const char *rule) {
    const std::string found = shim.breaches();
    EXPECT_THAT(found, testing::StartsWith(std::string(rule) + ": "));
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }

  static constexpr const char *kFlags = "-ze-fp32-correctly-rounded-divide-sqrt";
  const shim::Shim shim{shim::Vendor::kLibrary};
  ZeCalls api;
  Handle driver = nullptr, devices[2] = {}, context = nullptr, list = nullptr, pool = nullptr,
         event = nullptr, module = nullptr;
  void *block = nullptr;
  unsigned char host[4096] = {};
};

} // namespace tessera::levelzero
