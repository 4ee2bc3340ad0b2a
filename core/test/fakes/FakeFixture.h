// One fake backend, registered as "fake", and a context on it.
#pragma once
#include "core/test/Support.h"
#include <gmock/gmock.h>
#include <tessera/fakes/fakes.hpp>

namespace tessera::test {

using namespace tessera::fakes;
using testing::_;
using testing::HasSubstr;
using testing::NiceMock;
using testing::Return;
using testing::Throw;

/// What the runtime detects as PTX. The fakes accept anything.
inline constexpr char kImage[] = "// .version 8.0\n// .target sm_90\n";

class FakeTest : public testing::Test {
protected:
  void TearDown() override {
    if (context) EXPECT_OK(tsrDestroyContext(context));
  }
  tsr_status_t create(const char *name = "fake", int32_t device = 0) {
    tsr_context_options_t o = {sizeof o, name, device, nullptr};
    return tsrCreateContextEx(&o, &context);
  }
  tsr_status_t load(tsr_module_t &out, const char *yaml = kDigitYaml) {
    const tsr_image_t image = {sizeof image, kImage, sizeof kImage, &yaml, 1};
    return tsrLoadModuleEx(context, &image, &out);
  }
  tsr_kernel_t kernel(const char *yaml = kDigitYaml) {
    tsr_module_t module = nullptr;
    tsr_kernel_t out = nullptr;
    EXPECT_OK(load(module, yaml));
    EXPECT_OK(tsrGetKernel(module, nullptr, &out));
    return out;
  }
  /// Launches the kernel of kDigitYaml.
  tsr_status_t launch(tsr_kernel_t k, int32_t value, tsr_stream_t s = nullptr) {
    void *args[] = {&word, &value};
    return tsrLaunch(k, s, kFromMetadata, args, 2);
  }
  void *alloc(size_t bytes = 64) {
    void *p = nullptr;
    EXPECT_OK(tsrAlloc(context, bytes, TSR_MEM_DEVICE, &p));
    return p;
  }

  NiceMock<MockBackend> backend;
  FakePlugin plugin{"fake"};
  tsr_context_t context = nullptr;
  void *word = nullptr;
};

/// The same, registered and with a context.
class FakeContextTest : public FakeTest {
protected:
  void begin() {
    plugin.serve(backend);
    ASSERT_OK(plugin.add());
    ASSERT_OK(create());
    word = alloc();
  }
};

} // namespace tessera::test
