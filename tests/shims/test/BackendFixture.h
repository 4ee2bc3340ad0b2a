// A context of GpuBackend with a shim in the driver's place. SHIM_VENDOR names the header of one vendor's
// tests/shims/test/*Vendor.h.
#pragma once
#include "tests/shims/test/Shim.h"
#include SHIM_VENDOR
#include <atomic>
#include <bit>
#include <gmock/gmock.h>
#include <tessera/gpu_backend.hpp>
#include <thread>

namespace tessera {

using shim::Vendor;
using testing::HasSubstr;
using Gpu = GpuBackend<Vendor::Driver, Vendor::kArchitectures>;

inline const shim::Shim &shimOf() {
  static const shim::Shim shim(Vendor::kLibrary);
  return shim;
}

/// The devices are found once, by the first test.
inline constexpr const char *kDevices = "devices=2";

class BackendTest : public testing::Test {
protected:
  void SetUp() override {
    shimOf().configure(kDevices);
    open();
  }
  void TearDown() override {
    context.reset();
    EXPECT_EQ(shimOf().leaks(), "");
  }
  void open() {
    context = backend.createContext(0, nullptr, why);
    ASSERT_TRUE(context) << why;
  }
  void *alloc(size_t bytes) {
    void *p = nullptr;
    EXPECT_EQ(context->alloc(bytes, TSR_MEM_DEVICE, &p, why), TSR_SUCCESS) << why;
    return p;
  }
  std::shared_ptr<DeviceModule> load() {
    const std::string image = shim::contentsOf(Vendor::kImage);
    return context->loadModule({Vendor::kFormat, image.data(), image.size(), "kernels", nullptr}, why);
  }
  static KernelSpec axpySpec() {
    KernelSpec spec;
    spec.name = "tsr_kernel_axpy", spec.valueCount = 4, spec.block[0] = 64;
    spec.arguments = {{TSR_ARGUMENT_POINTER, 8, 0},
                      {TSR_ARGUMENT_POINTER, 8, 8},
                      {TSR_ARGUMENT_SCALAR, 4, 16},
                      {TSR_ARGUMENT_DIM, 8, 24}};
    return spec;
  }
  std::shared_ptr<DeviceKernel> axpy() {
    auto kernel = load()->getKernel(axpySpec(), why);
    EXPECT_TRUE(kernel) << why;
    return kernel;
  }
  static std::vector<uint64_t> axpyValues(void *x, void *y, float alpha, size_t n) {
    return {std::bit_cast<uint64_t>(x), std::bit_cast<uint64_t>(y), std::bit_cast<uint32_t>(alpha), n};
  }
  std::vector<float> read(DeviceStream &stream, const void *p, size_t count) {
    std::vector<float> out(count);
    EXPECT_EQ(stream.copy(out.data(), p, count * 4, true, why), TSR_SUCCESS) << why;
    return out;
  }
  /// A new stream; reports why there is none.
  std::unique_ptr<DeviceStream> stream() { return context->createStream(why); }
  /// Queues a call of the host that waits for `go`, so that what follows is held.
  void hold(DeviceStream &stream, const std::atomic<bool> &go, tsr_status_t ends = TSR_SUCCESS,
            const char *text = "") {
    auto wait = [&go, ends, text](std::string &out) {
      while (!go)
        std::this_thread::yield();
      out = text;
      return ends;
    };
    EXPECT_EQ(stream.callHost(wait, why), TSR_SUCCESS) << why;
  }
  /// getKernel is refused with this text.
  void refused(const KernelSpec &spec, const std::string &text) {
    why.clear();
    EXPECT_FALSE(load()->getKernel(spec, why));
    EXPECT_THAT(why, HasSubstr(text));
  }

  Gpu backend;
  std::unique_ptr<DeviceContext> context;
  std::string why;
};

} // namespace tessera
