// Code made by emitCast against the reference casts: all sources of at most 16 bits, random and edge values
// of the wider ones; vectors of one and two dimensions and scalars.
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "compiler/tile/test/math/VectorJit.h"
#include "numerics/Casts.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using namespace tessera::tile;
using namespace tessera::tile::test;

namespace {

const std::string kWithoutF16C = "x86-64-v2";

VectorJit compileCast(DType from, DType to, std::vector<int64_t> shape, const std::string &cpu) {
  return VectorJit(
      [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange in) {
        mlir::Value v = emitLoadForm(b, loc, in[0], from);
        return emitStoreForm(b, loc, emitCast(b, loc, v, from, to), to);
      },
      {memoryType(&context(), from)}, memoryType(&context(), to), std::move(shape),
      {.expandHalf = cpu == kWithoutF16C, .cpu = cpu});
}

std::vector<uint64_t> sources(DType t) {
  std::vector<uint64_t> values;
  const int bytes = storageBytes(t);
  if (t == DType::Bool) return {0, 1, 2, 255};
  if (isPacked(t)) { // in registers they are extended
    for (uint64_t v = 0; v < 16; ++v)
      values.push_back(castBits(v, t, t));
    return values;
  }
  if (bytes <= 2) {
    for (uint64_t v = 0; v < uint64_t(1) << (8 * bytes); ++v)
      values.push_back(v);
    return values;
  }
  const uint64_t mask = bytes == 8 ? ~uint64_t(0) : 0xffffffff;
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t v = random();
    values.push_back(v & mask);
    values.push_back(v >> (random() % 64) & mask);
    values.push_back(v & ~uint64_t(0) << (random() % 64) & mask);
  }
  for (int shift = 0; shift < 8 * bytes; ++shift)
    for (int delta = -2; delta <= 2; ++delta) {
      values.push_back(((uint64_t(1) << shift) + uint64_t(int64_t(delta))) & mask);
      values.push_back((-(uint64_t(1) << shift) + uint64_t(int64_t(delta))) & mask);
    }
  if (!isFloat(t)) return values;
  for (DType narrow : {DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2, DType::F6E2M3, DType::F4E2M1,
                       DType::I16, DType::I8})
    for (uint64_t v = 0; v + 1 < uint64_t(1) << info(narrow).bits; v += info(narrow).bits > 8 ? 3 : 1) {
      const double a = toDouble(v, narrow), b = toDouble(v + 1, narrow);
      for (double x : {a, (a + b) / 2})
        for (uint64_t delta : {-1, 0, 1})
          values.push_back((fromDouble(x, t) + delta) & mask);
    }
  for (double edge : {0x1p31, 0x1p63, -0x1p31, -0x1p63, 0x1p128, 65520.0, 3.3895313892515355e38})
    for (uint64_t delta : {-2, -1, 0, 1, 2})
      values.push_back((fromDouble(edge, t) + delta) & mask);
  return values;
}

/// A signalling NaN widened from a 16-bit float or fp8_e5m2 may stay signalling.
bool agree(uint64_t got, uint64_t want, DType from, DType to) {
  if (got == want) return true;
  const bool widened = (from == DType::BF16 || from == DType::F16 || from == DType::F8E5M2) && isFloat(to);
  return widened && std::isnan(toDouble(got, to)) && std::isnan(toDouble(want, to));
}

void check(DType from, DType to, std::vector<int64_t> shape, const std::string &cpu = "") {
  VectorJit jit = compileCast(from, to, std::move(shape), cpu);
  std::vector<uint64_t> values = sources(from);
  while (values.size() % 64)
    values.push_back(0);
  const size_t inBytes = size_t(storageBytes(from)), outBytes = size_t(storageBytes(to));
  std::vector<char> in(values.size() * inBytes), out(values.size() * outBytes);
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(&in[i * inBytes], from, values[i]);
  jit.run({in.data()}, out.data(), values.size());
  int shown = 0;
  for (size_t i = 0; i < values.size() && shown < 5; ++i) {
    const uint64_t got = loadBits(&out[i * outBytes], to), want = castBits(values[i], from, to);
    if (from == to || agree(got, want, from, to)) continue;
    ++shown;
    ADD_FAILURE() << name(from) << " 0x" << std::hex << values[i] << " -> " << name(to) << ": 0x" << got
                  << ", want 0x" << want;
  }
  std::vector<std::string> targets = {cpu};
  if (cpu.empty()) targets = {"skylake-avx512", "sapphirerapids"};
  for (const std::string &target : targets)
    for (const std::string &call : jit.externalCalls(target))
      ADD_FAILURE() << name(from) << " -> " << name(to) << " on " << target << " calls " << call;
}

std::vector<DType> all() {
  std::vector<DType> types;
  for (const DTypeInfo &row : allDTypes())
    types.push_back(row.dtype);
  return types;
}

class From : public testing::TestWithParam<DType> {};

TEST_P(From, VectorsEqualTheReference) {
  for (DType to : all())
    check(GetParam(), to, {16});
}

TEST_P(From, AlsoWithoutAVX512) {
  for (DType to : all())
    check(GetParam(), to, {16}, "x86-64-v3");
}

TEST_P(From, AlsoWithoutF16C) {
  for (DType to : all())
    check(GetParam(), to, {4}, kWithoutF16C);
}

INSTANTIATE_TEST_SUITE_P(All, From, testing::ValuesIn(all()),
                         [](const auto &param) { return std::string(name(param.param)); });

TEST(ExpandCasts, ScalarsAndMatrices) {
  const std::pair<DType, DType> pairs[] = {{DType::F32, DType::BF16},   {DType::BF16, DType::F32},
                                           {DType::F32, DType::F8E4M3}, {DType::F8E5M2, DType::F16},
                                           {DType::F64, DType::F16},    {DType::I64, DType::BF16},
                                           {DType::F32, DType::I32},    {DType::F32, DType::Bool}};
  for (auto [from, to] : pairs) {
    check(from, to, {});
    check(from, to, {4, 8});
  }
}

TEST(ExpandCasts, FormsHaveTheSizesOfTheTable) {
  for (DType t : all()) {
    EXPECT_EQ(memoryType(&context(), t).getIntOrFloatBitWidth(), unsigned(storageBytes(t)) * 8) << name(t);
    EXPECT_EQ(registerType(&context(), t) == memoryType(&context(), t), t != DType::Bool) << name(t);
  }
  EXPECT_EQ(computeDType(DType::BF16), DType::F32);
  EXPECT_EQ(computeDType(DType::F64), DType::F64);
  EXPECT_EQ(computeDType(DType::I8), DType::I8);
}

} // namespace
