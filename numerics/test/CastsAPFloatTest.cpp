// Compares every cast with LLVM's APFloat and APInt: all values of sources of at most 16 bits. For wider
// sources, random values and the neighbourhoods of powers of two.
#include "numerics/Casts.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace tessera;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

namespace {

const llvm::fltSemantics &semantics(DType t) {
  switch (t) {
  case DType::F64:
    return APFloat::IEEEdouble();
  case DType::F32:
    return APFloat::IEEEsingle();
  case DType::F16:
    return APFloat::IEEEhalf();
  case DType::BF16:
    return APFloat::BFloat();
  case DType::TF32:
    return APFloat::FloatTF32();
  case DType::F8E4M3:
    return APFloat::Float8E4M3FN();
  case DType::F8E5M2:
    return APFloat::Float8E5M2();
  case DType::F6E2M3:
    return APFloat::Float6E2M3FN();
  case DType::F6E3M2:
    return APFloat::Float6E3M2FN();
  default:
    return APFloat::Float4E2M1FN();
  }
}

unsigned valueBits(DType t) { return t == DType::TF32 ? 32 : info(t).bits; }

APFloat readFloat(uint64_t bits, DType t) {
  if (t == DType::TF32) t = DType::F32; // tf32 storage may contain any f32
  return APFloat(semantics(t), APInt(info(t).bits, bits, false, true));
}

uint64_t writeFloat(APFloat value, DType t) {
  const bool saturates = info(t).bits <= 8;
  if (value.isNaN() && !info(t).hasNaN)
    return APFloat::getLargest(semantics(t)).bitcastToAPInt().getZExtValue();
  bool losesInfo;
  const bool negative = value.isNegative(), wasNaN = value.isNaN();
  APFloat largest = APFloat::getLargest(semantics(t), negative);
  if (saturates && !wasNaN) {
    // Compare in a format in which both are exact.
    APFloat wide = value, limit = largest;
    wide.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &losesInfo);
    limit.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &losesInfo);
    if (llvm::abs(wide) >= llvm::abs(limit)) return largest.bitcastToAPInt().getZExtValue();
  }
  value.convert(semantics(t), APFloat::rmNearestTiesToEven, &losesInfo);
  if (t == DType::TF32) value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

/// An i4 is sign-extended to its byte.
uint64_t writeInt(const APInt &value, DType t) {
  return (t == DType::I4 ? value.sext(8) : value).getZExtValue();
}

uint64_t expected(uint64_t bits, DType from, DType to) {
  if (from == to && !isPacked(from)) return bits;
  if (isFloat(from)) {
    APFloat value = readFloat(bits, from);
    if (isFloat(to)) return writeFloat(value, to);
    if (to == DType::Bool) return !value.isZero();
    APSInt result(info(to).bits, isUnsigned(to));
    bool exact;
    value.convertToInteger(result, APFloat::rmTowardZero, &exact);
    return writeInt(result, to);
  }
  const bool isSigned = info(from).cls == DTypeClass::SignedInt;
  APInt value(info(from).bits, bits, false, true);
  if (to == DType::Bool) return !value.isZero();
  if (isInt(to))
    return writeInt(isSigned ? value.sextOrTrunc(info(to).bits) : value.zextOrTrunc(info(to).bits), to);
  APFloat exact(APFloat::IEEEquad()); // represents every i64 exactly
  exact.convertFromAPInt(isSigned ? value.sext(65) : value.zext(65), true, APFloat::rmNearestTiesToEven);
  return writeFloat(exact, to);
}

std::vector<uint64_t> sources(DType t) {
  std::vector<uint64_t> values;
  const unsigned bits = valueBits(t);
  if (bits <= 16) {
    for (uint64_t v = 0; v < uint64_t(1) << bits; ++v)
      values.push_back(v);
    return values;
  }
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  std::mt19937_64 random(bits);
  for (int i = 0; i < 100000; ++i) {
    uint64_t v = random();
    values.push_back(v & mask);
    values.push_back(v >> (random() % 64) & mask);                  // integers of all sizes, small floats
    values.push_back((v & ~uint64_t(0) << (random() % 64)) & mask); // short mantissas: ties
  }
  for (unsigned shift = 0; shift < bits; ++shift)
    for (int delta = -2; delta <= 2; ++delta) {
      values.push_back(((uint64_t(1) << shift) + static_cast<uint64_t>(delta)) & mask);
      values.push_back((-(uint64_t(1) << shift) + static_cast<uint64_t>(delta)) & mask);
    }
  if (!isFloat(t)) return values;
  // Every value and every midpoint of the narrower formats, and their neighbours.
  for (DType narrow :
       {DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2, DType::F6E2M3, DType::F6E3M2, DType::F4E2M1})
    for (uint64_t v = 0; v + 1 < uint64_t(1) << info(narrow).bits; ++v) {
      const double a = toDouble(v, narrow), b = toDouble(v + 1, narrow);
      for (double x : {a, (a + b) / 2})
        for (uint64_t delta : {-1, 0, 1})
          values.push_back((fromDouble(x, t) + delta) & mask);
    }
  return values;
}

class CastPairs : public testing::TestWithParam<DType> {};

TEST_P(CastPairs, EqualAPFloat) {
  const DType from = GetParam();
  const std::vector<uint64_t> values = sources(from);
  for (const DTypeInfo &row : allDTypes()) {
    int shown = 0;
    for (uint64_t v : values) {
      const uint64_t got = castBits(v, from, row.dtype), want = expected(v, from, row.dtype);
      if (got == want) continue;
      ADD_FAILURE() << name(from) << " 0x" << std::hex << v << " -> " << row.name << ": 0x" << got
                    << ", want 0x" << want;
      if (++shown == 5) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CastPairs, testing::ValuesIn([] {
                           std::vector<DType> all;
                           for (const DTypeInfo &row : allDTypes())
                             all.push_back(row.dtype);
                           return all;
                         }()),
                         [](const auto &param) { return std::string(name(param.param)); });

} // namespace
