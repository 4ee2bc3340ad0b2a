// HIP and its shim, for tests that all vendors share.
#pragma once
#include "plugins/rocm/runtime/HipDriver.h"
#include <gtest/gtest.h>

namespace tessera::shim {

/// The driver's calls in a form that the vendors share.
struct HipApi : rocm::HipCalls {
  void open() { EXPECT_EQ(setDevice(0), 0); }
  void close() {}
  int allocateBytes(void **out, size_t bytes) { return allocate(out, bytes); }
  int releaseBytes(void *p) { return release(p); }
  int copyBytes(void *dst, const void *src, size_t bytes, rocm::HipStream *s) {
    return copy(dst, src, bytes, rocm::flag::kCopyDefault, s);
  }
  int fillBytes(void *dst, unsigned char byte, size_t bytes, rocm::HipStream *s) {
    return fill(dst, byte, bytes, s);
  }
  int load(rocm::HipModule **out, const std::string &image) { return moduleLoad(out, image.data()); }
  int launchWith(rocm::HipStream *s, rocm::HipFunction *function, unsigned threads, unsigned shared,
                 void *values, size_t bytes, unsigned blocksAlongY) {
    void *extra[] = {rocm::kParameterBuffer, values, rocm::kParameterBytes, &bytes, rocm::kParameterEnd};
    return launch(function, 1, blocksAlongY, 1, threads, 1, 1, shared, s, nullptr, extra);
  }
  int launchSeparately(rocm::HipStream *s, rocm::HipFunction *function) {
    void *values[4] = {};
    return launch(function, 1, 1, 1, 64, 1, 1, 0, s, values, nullptr);
  }
};

struct Vendor {
  using Api = HipApi;
  using Recording = rocm::HipGraph *;
  using Driver = rocm::HipDriver;
  static constexpr const auto &kArchitectures = rocm::kArchitectures;
  static constexpr const char *kLibrary = "libamdhip64.so.6", *kArch = "rocm:gfx90a",
                              *kImage = SHIM_TABLE "/rocm.image",
                              *kOfKernel = " of this kernel, whose threads have 32 registers each",
                              *kOutOfMemory = "hipMalloc failed with hipErrorOutOfMemory: out of memory",
                              *kLost = " failed with hipErrorLaunchFailure: unspecified launch failure",
                              *kReopenLost = "hipMemGetInfo failed with hipErrorLaunchFailure";
  static constexpr uint32_t kFormat = TSR_IMAGE_HSACO;
  static constexpr uint64_t kSharedBytes = 64 << 10, kParameterBytes = 4096;
};

} // namespace tessera::shim
