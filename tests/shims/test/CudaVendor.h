// CUDA's driver and its shim, for tests that all vendors share.
#pragma once
#include "plugins/ptx/runtime/CudaDriver.h"
#include <gtest/gtest.h>

namespace tessera::shim {

/// The driver's calls in a form that the vendors share.
struct CudaApi : ptx::CudaCalls {
  void open() {
    EXPECT_EQ(contextRetain(&first, 0), 0);
    EXPECT_EQ(contextRetain(&second, 1), 0);
    EXPECT_EQ(contextPush(first), 0);
  }
  void close() {
    ptx::CudaContext *popped;
    contextPop(&popped);
    contextRelease(0), contextRelease(1);
  }
  static ptx::CudaAddress at(const void *p) { return reinterpret_cast<ptx::CudaAddress>(p); }
  int allocateBytes(void **out, size_t bytes) {
    ptx::CudaAddress block = 0;
    const int result = allocate(&block, bytes);
    return *out = reinterpret_cast<void *>(block), result;
  }
  int releaseBytes(void *p) { return release(at(p)); }
  int copyBytes(void *dst, const void *src, size_t bytes, ptx::CudaStream *s) {
    return copy(at(dst), at(src), bytes, s);
  }
  int fillBytes(void *dst, unsigned char byte, size_t bytes, ptx::CudaStream *s) {
    return fill(at(dst), byte, bytes, s);
  }
  int load(ptx::CudaModule **out, const std::string &image) {
    return moduleLoad(out, image.c_str(), 0, nullptr, nullptr);
  }
  int launchWith(ptx::CudaStream *s, ptx::CudaFunction *function, unsigned threads, unsigned shared,
                 void *values, size_t bytes, unsigned blocksAlongY) {
    ptx::LaunchConfig config{{1, blocksAlongY, 1}, {threads, 1, 1}, shared, s, nullptr, 0};
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE and CU_LAUNCH_PARAM_END
    void *extra[] = {reinterpret_cast<void *>(1), values, reinterpret_cast<void *>(2), &bytes, nullptr};
    return launch(&config, function, nullptr, extra);
  }
  int launchSeparately(ptx::CudaStream *s, ptx::CudaFunction *function) {
    ptx::LaunchConfig config{{1, 1, 1}, {64, 1, 1}, 0, s, nullptr, 0};
    void *values[4] = {};
    return launch(&config, function, values, nullptr);
  }
  ptx::CudaContext *first = nullptr, *second = nullptr;
};

struct Vendor {
  using Api = CudaApi;
  using Recording = ptx::CudaGraph *;
  using Driver = ptx::CudaDriver;
  static constexpr const auto &kArchitectures = ptx::kArchitectures;
  static constexpr const char *kLibrary = "libcuda.so.1", *kArch = "ptx:sm_80",
                              *kImage = SHIM_TABLE "/ptx.image",
                              *kOfKernel = " of this kernel, whose threads have 32 registers each",
                              *kOutOfMemory =
                                  "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY: out of memory",
                              *kLost = " failed with CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
                              *kReopenLost = "cuDevicePrimaryCtxRetain failed with CUDA_ERROR_LAUNCH_FAILED";
  static constexpr uint32_t kFormat = TSR_IMAGE_PTX;
  static constexpr uint64_t kSharedBytes = 163 << 10, kParameterBytes = 4096;
};

} // namespace tessera::shim
