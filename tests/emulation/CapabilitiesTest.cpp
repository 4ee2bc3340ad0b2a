// What emulated devices say of themselves: the keys of docs/c-abi.md, the limits of the vendors' tables.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tessera/tessera.h>

namespace tessera::emulation {
namespace {

using Json = nlohmann::json;

Json capabilitiesOf(const char *backend) {
  const char *text = nullptr;
  EXPECT_EQ(tsrGetBackendDeviceCapabilities(backend, 0, &text), TSR_SUCCESS) << tsrLastError();
  return text ? Json::parse(text, nullptr, /*allow_exceptions=*/false) : Json::object();
}

TEST(Capabilities, HaveTheKeysOfTheCpu) {
  Json cpu = capabilitiesOf("cpu");
  for (const char *backend : {"ptx:emulated:sm_80", "rocm:emulated:gfx1100", "levelzero:emulated:pvc"}) {
    Json gpu = capabilitiesOf(backend);
    ASSERT_TRUE(gpu.is_object()) << backend;
    EXPECT_EQ(gpu.value("emulated", Json()), true) << backend;
    gpu.erase("emulated");
    for (const auto &[key, value] : cpu.items()) {
      EXPECT_TRUE(gpu.contains(key)) << backend << ": " << key;
      EXPECT_EQ(gpu[key].type_name(), std::string(value.type_name())) << backend << ": " << key;
    }
    EXPECT_EQ(gpu.size(), cpu.size()) << gpu;
    EXPECT_EQ(gpu["tensorcore"].size(), cpu["tensorcore"].size()) << gpu;
  }
}

TEST(Capabilities, AreThoseOfTheArchitecture) {
  const Json sm80 = capabilitiesOf("ptx:emulated:sm_80"), sm90 = capabilitiesOf("ptx:emulated:sm_90"),
             gfx90a = capabilitiesOf("rocm:emulated:gfx90a"), pvc = capabilitiesOf("levelzero:emulated:pvc");
  EXPECT_EQ(sm80["arch"], "ptx:emulated:sm_80");
  EXPECT_EQ(sm80["warp_size"], 32);
  EXPECT_EQ(gfx90a["warp_size"], 64);
  EXPECT_EQ(sm80["shared_bytes_per_block"], 163 * 1024);
  EXPECT_EQ(sm90["shared_bytes_per_block"], 227 * 1024);
  EXPECT_EQ(gfx90a["shared_bytes_per_block"], 64 * 1024);
  EXPECT_EQ(sm80["tensorcore"]["bf16"], true);
  EXPECT_EQ(gfx90a["tensorcore"]["fp16"], true);
  EXPECT_EQ(sm80["tensorcore"]["fp4_e2m1"], false);
  EXPECT_EQ(sm80["cp_async"], true);
  EXPECT_EQ(gfx90a["cp_async"], false);
  EXPECT_EQ(sm80["backend"], "ptx");
  EXPECT_EQ(pvc["dtypes"].size(), 19u);
}

} // namespace
} // namespace tessera::emulation
