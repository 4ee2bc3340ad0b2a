// Checks the contracts of the header on hand-computed values. CastsAPFloatTest.cpp covers the rest.
#include "numerics/Casts.h"
#include "numerics/test/Values.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace tessera;

namespace {

double through(double value, DType t) { return toDouble(fromDouble(value, t), t); }

} // namespace

TEST(Casts, LowPrecisionFloatsSaturate) {
  const std::pair<DType, double> largest[] = {{DType::F8E4M3, 448},
                                              {DType::F8E5M2, 57344},
                                              {DType::F6E2M3, 7.5},
                                              {DType::F6E3M2, 28},
                                              {DType::F4E2M1, 6}};
  for (auto [t, max] : largest)
    for (double huge : {max * 1.01, max * 1.5, 1e30, kInf}) {
      EXPECT_EQ(through(huge, t), max) << name(t);
      EXPECT_EQ(through(-huge, t), -max) << name(t);
    }
  EXPECT_EQ(through(1e30, DType::F16), kInf);
  EXPECT_EQ(through(kInf, DType::BF16), kInf);
}

TEST(Casts, NaNStaysNaNWhereThereIsOne) {
  for (DType t : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::TF32, DType::F8E4M3, DType::F8E5M2})
    EXPECT_TRUE(std::isnan(through(kQuietNaN, t))) << name(t);
  EXPECT_EQ(through(kQuietNaN, DType::F6E2M3), 7.5);
  EXPECT_EQ(through(-kQuietNaN, DType::F6E3M2), 28);
  EXPECT_EQ(through(kQuietNaN, DType::F4E2M1), 6);
}

TEST(Casts, RoundsToNearestEvenOnce) {
  EXPECT_EQ(through(2.5, DType::F4E2M1), 2);
  EXPECT_EQ(through(3.5, DType::F4E2M1), 4);
  EXPECT_EQ(through(0.25, DType::F4E2M1), 0);
  EXPECT_TRUE(std::signbit(through(-0.1, DType::F4E2M1)));
  // Above the midpoint of two bf16 numbers by less than f32 can represent: rounding through f32 would give
  // the even one.
  EXPECT_EQ(through(1 + 0x1p-8 + 0x1p-40, DType::BF16), 1 + 0x1p-7);
  EXPECT_EQ(through(1 + 0x1p-11, DType::TF32), 1);
  EXPECT_EQ(through(1 + 0x1p-10, DType::TF32), 1 + 0x1p-10);
}

TEST(Casts, FloatToIntTruncatesAndSaturates) {
  auto toInt = [](double value, DType t) {
    return static_cast<int64_t>(
        castBits(castBits(std::bit_cast<uint64_t>(value), DType::F64, t), t, DType::I64));
  };
  EXPECT_EQ(toInt(-2.9, DType::I32), -2);
  EXPECT_EQ(toInt(3e9, DType::I32), INT32_MAX);
  EXPECT_EQ(toInt(-kInf, DType::I32), INT32_MIN);
  EXPECT_EQ(toInt(kQuietNaN, DType::I32), 0);
  EXPECT_EQ(toInt(-1, DType::U8), 0);
  EXPECT_EQ(toInt(300, DType::U8), 255);
  EXPECT_EQ(toInt(1e300, DType::I64), INT64_MAX);
  EXPECT_EQ(toInt(kQuietNaN, DType::Bool), 1);
  EXPECT_EQ(toInt(-0.0, DType::Bool), 0);
}

TEST(Casts, IntegersWrap) {
  EXPECT_EQ(castBits(0x1ff, DType::I32, DType::I8), 0xffu);
  EXPECT_EQ(castBits(0xff, DType::U8, DType::I8), 0xffu);
  EXPECT_EQ(castBits(0xff, DType::I8, DType::I32), 0xffffffffu);
  EXPECT_EQ(castBits(0xff, DType::U8, DType::I32), 0xffu);
  EXPECT_EQ(castBits(0x100, DType::I32, DType::Bool), 1u);
}

TEST(Casts, UnusedBitsAreIgnoredAndClean) {
  EXPECT_EQ(castBits(0xf2, DType::F4E2M1, DType::F32), castBits(0x2, DType::F4E2M1, DType::F32));
  EXPECT_EQ(castBits(0xf2, DType::F4E2M1, DType::F4E2M1), 0x2u);
  EXPECT_EQ(castBits(7, DType::Bool, DType::I32), 1u);
}

TEST(Casts, Arrays) {
  std::vector<float> in = {1.0f, -2.5f, 1e9f, 0.3f};
  std::vector<uint8_t> packed(in.size());
  castArray(in.data(), DType::F32, packed.data(), DType::F8E4M3, in.size());
  castArray(packed.data(), DType::F8E4M3, in.data(), DType::F32, in.size());
  EXPECT_EQ(in, (std::vector<float>{1.0f, -2.5f, 448.0f, 0.3125f}));
  castArray(in.data(), DType::F32, in.data(), DType::I32, in.size()); // in place
  EXPECT_EQ(std::bit_cast<int32_t>(in[1]), -2);
}

TEST(Casts, LongArraysEqualSingleCasts) {
  // Long enough for every fast path. The words cover all exponents, including NaNs.
  std::vector<uint32_t> words(300000);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(i * 14311);
  std::vector<uint16_t> narrow(words.size());
  castArray(words.data(), DType::F32, narrow.data(), DType::BF16, words.size());
  for (size_t i = 0; i < words.size(); ++i)
    ASSERT_EQ(narrow[i], castBits(words[i], DType::F32, DType::BF16)) << words[i];
  std::vector<uint32_t> wide(words.size());
  castArray(narrow.data(), DType::F16, wide.data(), DType::F32, words.size());
  for (size_t i = 0; i < words.size(); ++i)
    ASSERT_EQ(wide[i], castBits(narrow[i], DType::F16, DType::F32)) << narrow[i];
}
