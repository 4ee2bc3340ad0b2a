// Statuses, versions and backends: everything that needs no context.
#include "core/test/Support.h"
#include <cstdlib>
#include <gmock/gmock.h>
#include <set>

using namespace tessera::test;

namespace {

TEST(Abi, StatusNames) {
  std::set<std::string> names, texts;
  for (int i = TSR_SUCCESS; i <= TSR_EINTERNAL; ++i) {
    names.insert(tsrStatusName(static_cast<tsr_status_t>(i)));
    texts.insert(tsrStatusString(static_cast<tsr_status_t>(i)));
  }
  EXPECT_EQ(names.size(), size_t{TSR_EINTERNAL} + 1);
  EXPECT_EQ(texts.size(), size_t{TSR_EINTERNAL} + 1);
  EXPECT_STREQ(tsrStatusName(TSR_UNIMPLEMENTED), "TSR_UNIMPLEMENTED");
  EXPECT_STREQ(tsrStatusName(static_cast<tsr_status_t>(12)), "TSR_UNKNOWN");
  EXPECT_STREQ(tsrStatusString(static_cast<tsr_status_t>(12)), "unknown status");
  for (int none : {11, 16, 1000, -1}) { // also outside the enumeration's bits, which C allows
    EXPECT_STREQ(tsrStatusName(static_cast<tsr_status_t>(none)), "TSR_UNKNOWN");
    EXPECT_STREQ(tsrStatusString(static_cast<tsr_status_t>(none)), "unknown status");
  }
}

TEST(Abi, Version) {
  EXPECT_STRNE(tsrVersion(), "");
  tsrAbiVersion(nullptr, nullptr);
  uint32_t major = 0;
  tsrAbiVersion(&major, nullptr);
  EXPECT_EQ(major, TSR_ABI_MAJOR);
}

TEST(Abi, LastErrorIsPerThread) {
  EXPECT_EQ(tsrDestroyContext(nullptr), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("the context handle is NULL"));
  std::string other = "unset";
  std::thread([&] { other = tsrLastError(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_TRUE(lastErrorHas("the context handle is NULL"));
}

TEST(Abi, LastErrorOutlivesThreadLocalObjects) {
  static std::string seen;
  struct Late {
    ~Late() {
      tsrDestroyContext(nullptr);
      seen = tsrLastError();
    }
  };
  std::thread([] {
    static thread_local Late late; // constructed first, so destroyed last
    (void)&late;
    tsr_context_t c = nullptr;
    tsr_context_options_t options = {sizeof options, "a name too long for the text to stay inside its string",
                                     0, nullptr};
    EXPECT_EQ(tsrCreateContextEx(&options, &c), TSR_ENOTFOUND);
  }).join();
  EXPECT_EQ(seen, "the context handle is NULL");
}

TEST(Backends, ListNamesAllFour) {
  std::set<std::string> names;
  tsr_backend_info_t info{};
  info.struct_size = sizeof info;
  int available = 0, selected = 0;
  size_t i = 0;
  for (; tsrGetBackendInfo(i, &info) == TSR_SUCCESS; ++i) {
    names.insert(info.name);
    available += info.available;
    selected += info.selected;
    EXPECT_EQ(info.available != 0, std::string(info.reason).empty());
    EXPECT_EQ(info.available != 0, info.device_count > 0);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"cpu", "levelzero", "ptx", "rocm"}));
  EXPECT_GE(available, 1);
  EXPECT_EQ(selected, 1);
  EXPECT_EQ(tsrGetBackendInfo(i, &info), TSR_ENOTFOUND);
  EXPECT_EQ(tsrGetBackendInfo(0, nullptr), TSR_EINVAL);
  info.struct_size = 0;
  EXPECT_EQ(tsrGetBackendInfo(0, &info), TSR_EINVAL);
}

/// Disables the GPUs' plugins, so that the results do not depend on the machine.
struct BackendVariable : testing::Test {
  void SetUp() override { setenv("TESSERA_BACKENDS_DISABLE", "ptx, rocm, levelzero", 1); }
  void TearDown() override {
    unsetenv("TESSERA_BACKEND");
    unsetenv("TESSERA_BACKENDS_DISABLE");
  }
  tsr_context_t context = nullptr;
};

TEST_F(BackendVariable, UnknownNameListsAvailableBackends) {
  setenv("TESSERA_BACKEND", "rocn", 1);
  EXPECT_EQ(tsrCreateContext(&context), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("TESSERA_BACKEND=rocn: there is no such backend; available: cpu"));
  EXPECT_TRUE(lastErrorHas("; did you mean rocm?"));
  EXPECT_EQ(context, nullptr);
}

TEST_F(BackendVariable, UpperCaseNameIsRecognised) {
  setenv("TESSERA_BACKEND", "CPU", 1);
  EXPECT_EQ(tsrCreateContext(&context), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("TESSERA_BACKEND=CPU: there is no such backend; available: cpu"));
  EXPECT_TRUE(lastErrorHas("; did you mean cpu?"));
}

TEST_F(BackendVariable, UnusableBackendIsNotReplaced) {
  for (const char *name : {"ptx", "rocm", "levelzero", "level_zero"}) {
    setenv("TESSERA_BACKEND", name, 1);
    EXPECT_EQ(tsrCreateContext(&context), TSR_UNIMPLEMENTED);
    EXPECT_TRUE(lastErrorHas("TSRP-120"));
  }
}

TEST_F(BackendVariable, OptionsOverrideTheEnvironment) {
  setenv("TESSERA_BACKEND", "rocm", 1);
  tsr_context_options_t options = {sizeof options, "cpu", 0, nullptr};
  ASSERT_OK(tsrCreateContextEx(&options, &context));
  EXPECT_OK(tsrDestroyContext(context));
  setenv("TESSERA_BACKEND", "cpu", 1);
  options.backend = "cuda";
  EXPECT_EQ(tsrCreateContextEx(&options, &context), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("backend 'cuda'"));
}

TEST_F(BackendVariable, SelectBackendOverridesTheEnvironment) {
  auto selected = [](size_t index) {
    tsr_backend_info_t info{};
    info.struct_size = sizeof info;
    EXPECT_OK(tsrGetBackendInfo(index, &info));
    return info.selected == 1;
  };
  setenv("TESSERA_BACKEND", "nothing", 1);
  EXPECT_FALSE(selected(0));
  ASSERT_OK(tsrSelectBackend("cpu"));
  EXPECT_TRUE(selected(0));
  ASSERT_OK(tsrCreateContext(&context));
  EXPECT_OK(tsrDestroyContext(context));
  EXPECT_EQ(tsrSelectBackend("rocn"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("backend 'rocn': there is no such backend; available: cpu"));
  EXPECT_TRUE(lastErrorHas("; did you mean rocm?"));
  EXPECT_EQ(tsrSelectBackend("level_zero"), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("TSRP-120"));
  EXPECT_TRUE(selected(0)); // unchanged
  ASSERT_OK(tsrSelectBackend(nullptr));
  EXPECT_FALSE(selected(0));
  EXPECT_EQ(tsrCreateContext(&context), TSR_ENOTFOUND);
}

TEST_F(BackendVariable, DevicesWithoutAContext) {
  int32_t count = -1;
  ASSERT_OK(tsrGetDeviceCount(nullptr, &count));
  EXPECT_EQ(count, 1);
  ASSERT_OK(tsrGetDeviceCount("cpu", &count));
  EXPECT_EQ(tsrGetDeviceCount("cpu", nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetDeviceCount("ptx", &count), TSR_UNIMPLEMENTED);
  EXPECT_EQ(tsrGetDeviceCount("ptxx", &count), TSR_ENOTFOUND);
  tsr_device_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tsrGetBackendDeviceInfo("cpu", 0, &info));
  EXPECT_STREQ(info.backend, "cpu");
  EXPECT_GE(info.compute_units, 1u);
  EXPECT_EQ(tsrGetBackendDeviceInfo("cpu", 1, &info), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("backend cpu has 1 device(s), there is no device 1"));
  EXPECT_EQ(tsrGetBackendDeviceInfo("cpu", -1, &info), TSR_ENOTFOUND);
  EXPECT_EQ(tsrGetBackendDeviceInfo("rocm", 0, &info), TSR_UNIMPLEMENTED);
  EXPECT_EQ(tsrGetBackendDeviceInfo("cpu", 0, nullptr), TSR_EINVAL);
  const char *json = nullptr, *ofContext = nullptr;
  ASSERT_OK(tsrGetBackendDeviceCapabilities(nullptr, 0, &json));
  ASSERT_OK(tsrCreateContext(&context));
  ASSERT_OK(tsrGetDeviceCapabilities(context, &ofContext));
  EXPECT_STREQ(json, ofContext);
  const char *value = nullptr;
  ASSERT_OK(tsrGetDeviceCapability(context, "backend", &value));
  EXPECT_STREQ(value, "cpu");
  ASSERT_OK(tsrGetDeviceCapability(context, "warp_size", &value));
  EXPECT_STREQ(value, "1");
  ASSERT_OK(tsrGetDeviceCapability(context, "tensorcore.bf16", &value));
  EXPECT_STREQ(value, "false");
  ASSERT_OK(tsrGetDeviceCapability(context, "memory_flags", &value));
  EXPECT_THAT(value, testing::StartsWith("["));
  for (const char *key : {"", ".", "tensorcore.", "tensorcore.bf16.", "backend.x", "dtypes.0", "warp"}) {
    EXPECT_EQ(tsrGetDeviceCapability(context, key, &value), TSR_ENOTFOUND) << key;
    EXPECT_TRUE(lastErrorHas("tensorcore.bf16"));
  }
  EXPECT_EQ(tsrGetDeviceCapability(context, nullptr, &value), TSR_EINVAL);
  EXPECT_EQ(tsrGetDeviceCapability(context, "arch", nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetDeviceCapability(nullptr, "arch", &value), TSR_EINVAL);
  ASSERT_OK(tsrDestroyContext(context));
  EXPECT_EQ(tsrGetBackendDeviceCapabilities("cpu", 9, &json), TSR_ENOTFOUND);
  EXPECT_EQ(tsrGetBackendDeviceCapabilities("cpu", 0, nullptr), TSR_EINVAL);
  setenv("TESSERA_BACKEND", "ptx", 1);
  EXPECT_EQ(tsrGetDeviceCount(nullptr, &count), TSR_UNIMPLEMENTED);
}

} // namespace
