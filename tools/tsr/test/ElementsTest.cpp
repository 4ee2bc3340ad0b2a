#include "tools/tsr/Elements.h"
#include <cstring>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(Elements, EveryDTypeHasAFileType) {
  auto type = [](DType t, bool raw = false) { return npy::toString(fileType(t, raw)); };
  EXPECT_EQ(type(DType::F64), "f8");
  EXPECT_EQ(type(DType::F16, true), "f2");
  EXPECT_EQ(type(DType::TF32, true), "f4");
  EXPECT_EQ(type(DType::BF16), "f4");
  EXPECT_EQ(type(DType::BF16, true), "u2");
  EXPECT_EQ(type(DType::F8E4M3), "f4");
  EXPECT_EQ(type(DType::F4E2M1, true), "u1");
  EXPECT_EQ(type(DType::I64), "i8");
  EXPECT_EQ(type(DType::U8), "u1");
  EXPECT_EQ(type(DType::Bool), "b1");
}

TEST(Elements, ConvertsThroughTheLanguagesCasts) {
  npy::Bytes file, device, back;
  ASSERT_TRUE(file.allocate(3 * 4));
  const float values[] = {1.0f, 3.14159f, 1e9f};
  std::memcpy(file.data(), values, sizeof values);
  ASSERT_TRUE(toDevice(std::move(file), DType::F8E4M3, false, device));
  ASSERT_EQ(device.size(), 3u);
  ASSERT_TRUE(toFile(std::move(device), DType::F8E4M3, false, back));
  float out[3];
  std::memcpy(out, back.data(), sizeof out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 3.25f);
  EXPECT_EQ(out[2], 448.0f); // saturates
}

TEST(Elements, RawKeepsBits) {
  npy::Bytes file, device;
  ASSERT_TRUE(file.allocate(4));
  const uint16_t bits[] = {0x3f80, 0x7fc1};
  std::memcpy(file.data(), bits, sizeof bits);
  ASSERT_TRUE(toDevice(std::move(file), DType::BF16, true, device));
  EXPECT_EQ(std::memcmp(device.data(), bits, sizeof bits), 0);
}

uint64_t scalar(const char *text, DType t) {
  Expected<uint64_t> bits = parseScalar(text, t);
  EXPECT_TRUE(bits) << text << ": " << bits.error().message;
  return bits ? *bits : 0;
}

bool refused(const char *text, DType t) {
  Expected<uint64_t> bits = parseScalar(text, t);
  return !bits && bits.error().code == "E_SCALAR_VALUE" && !bits.error().message.empty();
}

TEST(Elements, ReadsScalars) {
  EXPECT_EQ(scalar("1", DType::F32), 0x3f800000u);
  EXPECT_EQ(scalar("-inf", DType::F32), 0xff800000u);
  EXPECT_EQ(scalar("nan", DType::F16) & 0x7c00u, 0x7c00u);
  EXPECT_EQ(scalar("1.5", DType::BF16), 0x3fc0u);
  EXPECT_EQ(scalar("-1", DType::I8), 0xffu);
  EXPECT_EQ(scalar("255", DType::U8), 255u);
  EXPECT_EQ(scalar("-9223372036854775808", DType::I64), uint64_t(1) << 63);
  EXPECT_EQ(scalar("true", DType::Bool), 1u);
  EXPECT_EQ(scalar("false", DType::Bool), 0u);
}

TEST(Elements, RefusesScalarsThatDoNotFit) {
  EXPECT_TRUE(refused("1e400", DType::F64));
  EXPECT_TRUE(refused("128", DType::I8));
  EXPECT_TRUE(refused("-1", DType::U8));
  EXPECT_TRUE(refused("1.5", DType::I32));
  EXPECT_TRUE(refused("9223372036854775808", DType::I64));
  EXPECT_TRUE(refused("1e39", DType::F32));
  EXPECT_TRUE(refused("1,5", DType::F32));
  EXPECT_TRUE(refused(" 1", DType::F32));
  EXPECT_TRUE(refused("", DType::F64));
  EXPECT_TRUE(refused("True", DType::Bool));
  EXPECT_TRUE(refused("1", DType::Bool));
}

} // namespace
} // namespace tessera::cli
