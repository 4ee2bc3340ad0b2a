#include "numerics/Combine.h"
#include "numerics/Casts.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace tessera;

namespace {

/// Returns the op over one element of each rank, computed in an array long enough for every loop.
uint64_t combined(const std::vector<uint64_t> &bits, DType t, CombineOp op, size_t count = 1100) {
  const auto bytes = static_cast<size_t>(storageBytes(t));
  std::vector<std::vector<std::byte>> arrays;
  std::vector<const void *> sources;
  for (uint64_t b : bits) {
    arrays.emplace_back(count * bytes);
    for (size_t i = 0; i < count; ++i)
      storeBits(arrays.back().data() + i * bytes, t, b);
  }
  for (auto &a : arrays)
    sources.push_back(a.data());
  combine(arrays.back().data(), sources.data(), static_cast<int>(bits.size()), count, t, op); // in place
  const uint64_t first = loadBits(arrays.back().data(), t);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(loadBits(arrays.back().data() + i * bytes, t), first) << name(t) << " at " << i;
  return first;
}

double combinedReals(std::vector<double> values, DType t, CombineOp op) {
  std::vector<uint64_t> bits;
  for (double v : values)
    bits.push_back(fromDouble(v, t));
  return toDouble(combined(bits, t, op), t);
}

TEST(Combine, PairsByIndexAndAnOddLastOneMovesUp) {
  // The tree of six ranks is ((0 1)(2 3))(4 5). In another order the ones would be lost.
  EXPECT_EQ(combinedReals({1e8, -1e8, 1, 1, 1e8, -1e8}, DType::F32, CombineOp::Sum), 2);
  EXPECT_EQ(combinedReals({1e8, -1e8, 1}, DType::F32, CombineOp::Sum), 1);
  EXPECT_EQ(combinedReals({1, 1e8, -1e8}, DType::F32, CombineOp::Sum), 0);
  EXPECT_EQ(combinedReals({1, 1, 1, 1, 1e8, -1e8, 1}, DType::F32, CombineOp::Sum), 5);
}

TEST(Combine, LowPrecisionIsComputedInF32AndRoundedOnce) {
  EXPECT_EQ(combinedReals({256, 1, 1}, DType::BF16, CombineOp::Sum), 258);
  EXPECT_EQ(combinedReals({2048, 1, 1}, DType::F16, CombineOp::Sum), 2050);
  EXPECT_EQ(combinedReals({448, 448, -448}, DType::F8E4M3, CombineOp::Sum), 448); // 896 in between
  EXPECT_EQ(combinedReals({448, 448}, DType::F8E4M3, CombineOp::Sum), 448);       // saturates
  EXPECT_EQ(combinedReals({6, 6}, DType::F4E2M1, CombineOp::Prod), 6);
  EXPECT_TRUE(std::isinf(combinedReals({60000, 60000}, DType::F16, CombineOp::Sum)));
  EXPECT_EQ(combinedReals({60000, 60000, -60000}, DType::F16, CombineOp::Sum), 60000);
}

TEST(Combine, IntegersWrapAndBoolsAreLogical) {
  EXPECT_EQ(combined({0x7f, 1}, DType::I8, CombineOp::Sum), 0x80u);
  EXPECT_EQ(combined({200, 100}, DType::U8, CombineOp::Sum), 44u);
  EXPECT_EQ(combined({200, 100}, DType::U8, CombineOp::Max), 200u);
  EXPECT_EQ(combined({0xC8, 100}, DType::I8, CombineOp::Max), 100u);
  EXPECT_EQ(combined({0x8000, 0xffff}, DType::I16, CombineOp::Prod), 0x8000u);
  EXPECT_EQ(combined({uint64_t{1} << 63, uint64_t{1} << 63}, DType::I64, CombineOp::Sum), 0u);
  for (CombineOp op : {CombineOp::Sum, CombineOp::Max}) {
    EXPECT_EQ(combined({0, 4}, DType::Bool, op), 1u);
    EXPECT_EQ(combined({0, 0, 0}, DType::Bool, op), 0u);
  }
  for (CombineOp op : {CombineOp::Prod, CombineOp::Min}) {
    EXPECT_EQ(combined({0, 4}, DType::Bool, op), 0u);
    EXPECT_EQ(combined({4, 2, 1}, DType::Bool, op), 1u);
  }
}

TEST(Combine, NaNPropagatesAndZerosAreOrdered) {
  for (DType t : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::TF32, DType::F8E4M3, DType::F8E5M2})
    for (CombineOp op : {CombineOp::Sum, CombineOp::Max, CombineOp::Min, CombineOp::Prod})
      for (std::vector<double> v : {std::vector<double>{NAN, 1}, {1, NAN}, {1, 2, NAN}})
        EXPECT_TRUE(std::isnan(combinedReals(v, t, op))) << name(t);
  EXPECT_FALSE(std::signbit(combinedReals({-0.0, 0.0}, DType::F32, CombineOp::Max)));
  EXPECT_FALSE(std::signbit(combinedReals({0.0, -0.0}, DType::F64, CombineOp::Max)));
  EXPECT_TRUE(std::signbit(combinedReals({0.0, -0.0}, DType::BF16, CombineOp::Min)));
}

TEST(Combine, OneSourceIsCopied) { EXPECT_EQ(combined({0x1234}, DType::I16, CombineOp::Sum), 0x1234u); }

} // namespace
