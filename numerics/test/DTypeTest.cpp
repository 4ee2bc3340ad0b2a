#include "numerics/DType.h"
#include <gtest/gtest.h>

using namespace tessera;

TEST(DType, CanonicalNamesRoundTrip) {
  for (const DTypeInfo &row : allDTypes()) {
    ASSERT_TRUE(parseDType(row.name).has_value()) << row.name;
    EXPECT_EQ(*parseDType(row.name), row.dtype);
    EXPECT_STREQ(name(row.dtype), row.name);
  }
}

TEST(DType, Aliases) {
  EXPECT_EQ(parseDType("fp32"), DType::F32);
  EXPECT_EQ(parseDType("float32"), DType::F32);
  EXPECT_EQ(parseDType("half"), DType::F16);
  EXPECT_EQ(parseDType("bfloat16"), DType::BF16);
  EXPECT_EQ(parseDType("fp8"), DType::F8E4M3);
  EXPECT_EQ(parseDType("fp6"), DType::F6E2M3);
  EXPECT_EQ(parseDType("fp4"), DType::F4E2M1);
  EXPECT_EQ(parseDType("int32"), DType::I32);
  EXPECT_EQ(parseDType("uint8"), DType::U8);
  EXPECT_EQ(parseDType("boolean"), DType::Bool);
}

TEST(DType, UnknownNames) {
  for (const char *text : {"", "F32", "f31", "fp32 ", "complex64", "u128"})
    EXPECT_FALSE(parseDType(text)) << text;
}

TEST(DType, WidthsAddUp) {
  for (const DTypeInfo &row : allDTypes()) {
    if (row.cls != DTypeClass::Float) continue;
    int exponentFields = row.maxExponent - row.minExponent + (row.hasInf ? 3 : 2);
    EXPECT_EQ(exponentFields, 1 << (row.bits - 1 - row.mantissaBits)) << row.name;
    EXPECT_LE(row.bits, 8 * row.storageBytes) << row.name;
  }
}
