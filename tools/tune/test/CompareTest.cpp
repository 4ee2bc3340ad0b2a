#include "tools/tune/Compare.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace tessera::tune {
namespace {

template <class T>
std::string differ(DType dtype, const std::vector<T> &base, const std::vector<T> &got, bool isExact = false,
                   double terms = 1) {
  return differences(dtype, std::as_bytes(std::span(base)), std::as_bytes(std::span(got)), isExact, terms);
}

TEST(Compare, FloatsMayDifferAsOrdersOfSumsDo) {
  const std::vector<float> base = {100, 1, -50};
  EXPECT_EQ(differ(DType::F32, base, base), "");
  EXPECT_EQ(differ<float>(DType::F32, base, {100.00001f, 1.00001f, -50}), "");
  EXPECT_EQ(differ<float>(DType::F32, base, {100, 1.1f, -50}),
            "1 of 3 elements differ; element 1 is 1.100000023841858 instead of 1");
  EXPECT_NE(differ<float>(DType::F32, base, {100.00001f, 1, -50}, true), "") << "equal bits are wanted";
  EXPECT_NE(differ<float>(DType::F32, base, {100, 1, NAN}), "");
  EXPECT_EQ(differ<float>(DType::F32, {NAN, 1}, {-NAN, 1}), "");
  EXPECT_NE(differ<float>(DType::F32, {INFINITY, 1}, {-INFINITY, 1}), "");
  EXPECT_NE(differ<float>(DType::F32, {INFINITY, 1}, {3e38f, 1}), "");
  EXPECT_EQ(differ<float>(DType::F32, {}, {}), "");
}

TEST(Compare, ALeftOutTermIsFound) {
  // 4096 terms of a sum that cancels: its largest element is 64 times a term.
  const std::vector<float> base = {64, 30, -20};
  EXPECT_NE(differ<float>(DType::F32, base, {64, 30.01f, -20}, false, 4096), "");
}

TEST(Compare, IntegersAreEqualOrDifferent) {
  EXPECT_EQ(differ<int32_t>(DType::I32, {1, -2}, {1, -2}), "");
  EXPECT_EQ(differ<int32_t>(DType::I32, {1, -2}, {1, -1}),
            "1 of 2 elements differ; element 1 is -1 instead of -2");
}

TEST(Compare, DoublesAndHalvesHaveTheirOwnUnit) {
  EXPECT_EQ(differ<double>(DType::F64, {1}, {1 + 1e-15}), "");
  EXPECT_NE(differ<double>(DType::F64, {1}, {1 + 1e-12}), "");
  EXPECT_EQ(differ<uint16_t>(DType::F16, {0x3c00}, {0x3c01}), "") << "a unit in the last place";
  EXPECT_NE(differ<uint16_t>(DType::F16, {0x3c00}, {0x3c08}), "");
}

} // namespace
} // namespace tessera::tune
