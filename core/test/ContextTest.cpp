#include "core/test/Support.h"
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::test;

namespace {

TEST(Context, CreationChecksItsArguments) {
  EXPECT_EQ(tsrCreateContext(nullptr), TSR_EINVAL);
  tsr_context_t c = nullptr;
  tsr_context_options_t options = {};
  EXPECT_EQ(tsrCreateContextEx(&options, &c), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("struct_size is not set"));
  options.struct_size = size_t{1} << 40; // as in an uninitialised struct; this many bytes must not be read
  EXPECT_EQ(tsrCreateContextEx(&options, &c), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("struct_size is not set"));
  options.struct_size = sizeof options;
  options.device = 7;
  EXPECT_EQ(tsrCreateContextEx(&options, &c), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("there is no device 7"));
  options.device = -1;
  EXPECT_EQ(tsrCreateContextEx(&options, &c), TSR_ENOTFOUND);
  EXPECT_EQ(c, nullptr);
}

TEST(Context, OptionsOfOlderAndNewerHeaders) {
  tsr_context_t c = nullptr;
  struct {
    tsr_context_options_t known;
    uint64_t later;
  } newer = {{sizeof newer, "cpu", 0, nullptr}, 0};
  ASSERT_OK(tsrCreateContextEx(&newer.known, &c));
  ASSERT_OK(tsrDestroyContext(c));
  newer.later = 1;
  EXPECT_EQ(tsrCreateContextEx(&newer.known, &c), TSR_UNIMPLEMENTED);
  EXPECT_TRUE(lastErrorHas("newer version"));
  tsr_context_options_t older = {sizeof(size_t), "no such backend", 99,
                                 nullptr}; // its fields are past the end of the struct
  ASSERT_OK(tsrCreateContextEx(&older, &c));
  ASSERT_OK(tsrDestroyContext(c));
}

TEST(Context, ADisabledBackendIsReportedAsRefused) {
  auto rowOfCpu = [] {
    const char *json = nullptr;
    EXPECT_OK(tsrGetLoadReport(0, &json));
    const auto report = nlohmann::json::parse(json);
    for (auto &row : report["plugins"])
      if (row["name"] == "cpu") return row;
    return nlohmann::json();
  };
  EXPECT_EQ(rowOfCpu()["state"], "built in");
  setenv("TESSERA_BACKENDS_DISABLE", "none, cpu", 1);
  auto row = rowOfCpu();
  unsetenv("TESSERA_BACKENDS_DISABLE");
  EXPECT_EQ(row["state"], "refused");
  EXPECT_EQ(row["code"], "TSRP-120");
}

TEST(Context, DestroyingTwiceIsAnError) {
  tsr_context_t c = nullptr;
  ASSERT_OK(tsrCreateContext(&c));
  ASSERT_OK(tsrDestroyContext(c));
  EXPECT_EQ(tsrDestroyContext(c), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("not valid"));
  EXPECT_EQ(tsrDestroyContext(nullptr), TSR_EINVAL);
}

TEST(Context, DestroyingInvalidatesWhatItOwns) {
  tsr_context_t c = nullptr;
  tsr_stream_t s = nullptr;
  tsr_event_t e = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrCreateContext(&c));
  ASSERT_OK(tsrCreateStream(c, &s));
  ASSERT_OK(tsrCreateEvent(c, &e));
  ASSERT_OK(createModule(c, {compiled(kSaxpyYaml, saxpy)}, &m));
  ASSERT_OK(tsrGetKernel(m, "saxpy", &k));
  ASSERT_OK(tsrDestroyContext(c));
  const char *yaml;
  EXPECT_EQ(tsrStreamSynchronize(s), TSR_EINVAL);
  EXPECT_EQ(tsrEventQuery(e), TSR_EINVAL);
  EXPECT_EQ(tsrUnloadModule(m), TSR_EINVAL);
  EXPECT_EQ(tsrKernelMetadata(k, &yaml), TSR_EINVAL);
}

TEST(Context, DestroyingReportsAnUnreportedFailure) {
  tsr_context_t c = nullptr;
  tsr_module_t m = nullptr;
  tsr_kernel_t k = nullptr;
  ASSERT_OK(tsrCreateContext(&c));
  ASSERT_OK(createModule(c, {compiled(kGreedyYaml, saxpy)}, &m));
  ASSERT_OK(tsrGetKernel(m, nullptr, &k));
  ASSERT_OK(tsrLaunch(k, nullptr, kFromMetadata, nullptr, 0));
  EXPECT_EQ(tsrDestroyContext(c), TSR_EOOM);
  EXPECT_TRUE(lastErrorHas("scratch memory"));
  EXPECT_EQ(tsrDestroyContext(c), TSR_EINVAL);
}

using ContextInfo = RuntimeTest;

TEST_F(ContextInfo, DeviceInfo) {
  tsr_device_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_OK(tsrGetDeviceInfo(context, &info));
  EXPECT_STREQ(info.backend, "cpu");
  EXPECT_STRNE(info.name, "");
  EXPECT_EQ(std::string(info.arch).substr(0, 3), "cpu");
  EXPECT_GT(info.memory_bytes, 1u << 20);
  EXPECT_GE(info.compute_units, 1u);
  EXPECT_GE(info.vector_bytes, 16u);
  EXPECT_EQ(info.max_shared_bytes, 1u << 20);
  EXPECT_EQ(info.struct_size, sizeof info);

  tsr_device_info_t small{};
  small.struct_size = offsetof(tsr_device_info_t, name); // the size of an older caller
  ASSERT_OK(tsrGetDeviceInfo(context, &small));
  EXPECT_STREQ(small.backend, "cpu");
  EXPECT_EQ(small.name, nullptr);

  EXPECT_EQ(tsrGetDeviceInfo(context, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetDeviceInfo(nullptr, &info), TSR_EINVAL);
  info.struct_size = 3;
  EXPECT_EQ(tsrGetDeviceInfo(context, &info), TSR_EINVAL);
}

TEST_F(ContextInfo, CapabilitiesAreJson) {
  const char *text = nullptr;
  ASSERT_OK(tsrGetDeviceCapabilities(context, &text));
  auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["backend"], "cpu");
  EXPECT_GE(json["compute_units"], 1);
  EXPECT_EQ(json["dtypes"].size(), 21u);
  // Programs specialise on these keys, which every backend has.
  ASSERT_TRUE(json["tensorcore"].is_object());
  for (const char *dtype : {"fp16", "bf16", "tf32", "fp8_e4m3", "fp8_e5m2"})
    EXPECT_EQ(json["tensorcore"][dtype], false) << dtype;
  EXPECT_EQ(json["warp_size"], 1);
  EXPECT_EQ(json["cp_async"], false);
  EXPECT_EQ(json["shared_bytes_per_block"], 1 << 20);
  EXPECT_EQ(json["graphs"], true);
  EXPECT_EQ(tsrGetDeviceCapabilities(context, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrGetDeviceCapabilities(nullptr, &text), TSR_EINVAL);
}

} // namespace
