#include "numerics/Casts.h"
#include <bit>
#include <cstring>
#include <vector>

namespace tessera {
namespace {

/// A decomposed number: (-1)^negative * significand * 2^exponent. The payload of a NaN is left-justified in
/// the significand.
struct Unpacked {
  enum Kind : uint8_t { Finite, Infinite, NaN } kind = Finite;
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;
};

constexpr uint64_t lowMask(int bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

/// tf32 is stored as an f32 whose low mantissa bits are zero.
const DTypeInfo &layoutOf(DType t) { return info(t == DType::TF32 ? DType::F32 : t); }

bool saturates(const DTypeInfo &f) { return f.bits <= 8; }

/// The exponent and mantissa fields of the largest finite value.
uint64_t largestField(const DTypeInfo &f) {
  const uint64_t exponent = static_cast<uint64_t>(f.maxExponent - f.minExponent + 1);
  const uint64_t mantissa =
      lowMask(f.mantissaBits) - (f.dtype == DType::F8E4M3 ? 1 : 0); // a mantissa of all ones is its NaN
  return exponent << f.mantissaBits | mantissa;
}

Unpacked unpackFloat(uint64_t bits, DType t) {
  const DTypeInfo &f = layoutOf(t);
  const uint64_t field = bits & lowMask(f.bits - 1);
  const uint64_t mantissa = field & lowMask(f.mantissaBits);
  const int biased = static_cast<int>(field >> f.mantissaBits);
  Unpacked u;
  u.negative = bits >> (f.bits - 1) & 1;
  if (field > largestField(f)) {
    u.kind = f.hasInf && mantissa == 0 ? Unpacked::Infinite : Unpacked::NaN;
    u.significand = mantissa << (64 - f.mantissaBits);
  } else {
    u.significand = biased ? mantissa | uint64_t(1) << f.mantissaBits : mantissa;
    u.exponent = (biased ? biased - 1 : 0) + f.minExponent - f.mantissaBits;
  }
  return u;
}

/// Returns significand * 2^-shift, rounded to nearest even.
uint64_t shiftRight(uint64_t significand, int shift) {
  if (shift <= 0) return significand << -shift;
  if (shift > 64) return 0;
  const auto wide = static_cast<unsigned __int128>(significand);
  const auto kept = static_cast<uint64_t>(wide >> shift);
  const unsigned __int128 rest = wide - (static_cast<unsigned __int128>(kept) << shift);
  const unsigned __int128 half = static_cast<unsigned __int128>(1) << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

uint64_t packFloat(const Unpacked &u, DType t) {
  const DTypeInfo &f = info(t);
  const int totalBits = layoutOf(t).bits;
  const int unusedBits = layoutOf(t).mantissaBits - f.mantissaBits; // 13 in tf32
  const uint64_t sign = static_cast<uint64_t>(u.negative) << (totalBits - 1);
  const uint64_t largest = largestField(f);
  if (u.kind == Unpacked::NaN) {
    if (!f.hasNaN) return largest;
    if (!f.hasInf) return sign | (largest + 1);
    const uint64_t payload = u.significand >> (64 - f.mantissaBits) | uint64_t(1) << (f.mantissaBits - 1);
    return sign | ((largest + 1) | payload) << unusedBits;
  }
  uint64_t field = largest + 1;
  if (u.kind == Unpacked::Finite) {
    if (u.significand == 0) return sign;
    // At or above the smallest normal, mantissaBits below the leading bit are kept. Smaller values are
    // multiples of the smallest denormal.
    const int leading = u.exponent + std::bit_width(u.significand) - 1;
    const int quantum = (leading > f.minExponent ? leading : f.minExponent) - f.mantissaBits;
    const uint64_t rounded = shiftRight(u.significand, quantum - u.exponent);
    // The addition handles a carry out of the mantissa and the step from denormal to normal.
    const auto binade = static_cast<uint64_t>(quantum + f.mantissaBits - f.minExponent);
    if (leading <= f.maxExponent) field = (binade << f.mantissaBits) + rounded;
  }
  if (field > largest) field = saturates(f) ? largest : largest + 1;
  return sign | field << unusedBits;
}

/// The low bits of an integer, as storage: an i4 is sign-extended to its byte.
uint64_t storedInt(uint64_t value, DType t) {
  const int bits = info(t).bits;
  value &= lowMask(bits);
  return t == DType::I4 && value >> (bits - 1) ? value | (lowMask(8) & ~lowMask(bits)) : value;
}

uint64_t floatToInt(const Unpacked &u, DType t) {
  const int bits = info(t).bits;
  const bool isSigned = !isUnsigned(t);
  if (u.kind == Unpacked::NaN) return 0;
  const uint64_t largest = lowMask(isSigned ? bits - 1 : bits);
  const uint64_t limit = u.negative ? (isSigned ? largest + 1 : 0) : largest; // of the magnitude
  uint64_t magnitude = limit;
  if (u.kind == Unpacked::Finite) {
    const int width = std::bit_width(u.significand) + u.exponent;
    if (width <= 0)
      magnitude = 0;
    else if (width <= 64)
      magnitude = u.exponent < 0 ? u.significand >> -u.exponent : u.significand << u.exponent;
    if (magnitude > limit) magnitude = limit;
  }
  return storedInt(u.negative ? -magnitude : magnitude, t);
}

/// Returns the value of an integer or bool, sign-extended if it is signed.
int64_t readInt(uint64_t bits, DType t) {
  if (t == DType::Bool) return (bits & 0xff) != 0;
  const int unused = 64 - info(t).bits;
  return isUnsigned(t) ? static_cast<int64_t>(bits & lowMask(info(t).bits))
                       : static_cast<int64_t>(bits << unused) >> unused;
}

/// The same as castBits from f32 to bf16, without branches.
uint16_t f32ToBF16(uint32_t word) {
  const uint32_t rounded = word + 0x7fff + (word >> 16 & 1);
  const bool isNaN = (word & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>((isNaN ? word | 0x400000 : rounded) >> 16);
}

} // namespace

uint64_t castBits(uint64_t bits, DType from, DType to) {
  if (from == to && !isFloat(to)) return storedInt(static_cast<uint64_t>(readInt(bits, from)), to);
  if (from == to) return bits & lowMask(layoutOf(to).bits);
  if (from == DType::TF32 && to == DType::F32) return bits & lowMask(32);
  Unpacked u;
  if (isFloat(from)) {
    u = unpackFloat(bits, from);
    if (to == DType::Bool) return u.kind != Unpacked::Finite || u.significand != 0;
    if (isInt(to)) return floatToInt(u, to);
  } else {
    const int64_t value = readInt(bits, from);
    if (to == DType::Bool) return value != 0;
    if (isInt(to)) return storedInt(static_cast<uint64_t>(value), to);
    u.negative = value < 0 && !isUnsigned(from); // a u64 may have the sign bit
    u.significand = u.negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  }
  return packFloat(u, to);
}

double toDouble(uint64_t bits, DType from) { return std::bit_cast<double>(castBits(bits, from, DType::F64)); }

uint64_t fromDouble(double value, DType to) {
  return castBits(std::bit_cast<uint64_t>(value), DType::F64, to);
}

uint64_t fromNumber(const Number &value, DType to) {
  if (const auto *integer = std::get_if<int64_t>(&value))
    return castBits(static_cast<uint64_t>(*integer), DType::I64, to);
  return fromDouble(std::get<double>(value), to);
}

uint64_t loadBits(const void *element, DType t) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t bits = 0;
  switch (storageBytes(t)) { // constant sizes become single loads
  case 1:
    std::memcpy(&bits, element, 1);
    break;
  case 2:
    std::memcpy(&bits, element, 2);
    break;
  case 4:
    std::memcpy(&bits, element, 4);
    break;
  default:
    std::memcpy(&bits, element, 8);
  }
  return bits;
}

void storeBits(void *element, DType t, uint64_t bits) {
  switch (storageBytes(t)) {
  case 1:
    std::memcpy(element, &bits, 1);
    break;
  case 2:
    std::memcpy(element, &bits, 2);
    break;
  case 4:
    std::memcpy(element, &bits, 4);
    break;
  default:
    std::memcpy(element, &bits, 8);
  }
}

void castArray(const void *source, DType from, void *target, DType to, size_t count) {
  const auto *in = static_cast<const std::byte *>(source);
  auto *out = static_cast<std::byte *>(target);
  const size_t inStep = static_cast<size_t>(storageBytes(from)),
               outStep = static_cast<size_t>(storageBytes(to));
  if (from == DType::F32 && to == DType::BF16) { // the most common case, worth a loop that vectorises
    for (size_t i = 0; i < count; ++i) {
      const uint16_t bits = f32ToBF16(static_cast<uint32_t>(loadBits(in + 4 * i, DType::F32)));
      std::memcpy(out + 2 * i, &bits, 2);
    }
    return;
  }
  const size_t distinct = size_t(1) << 8 * (inStep < 4 ? inStep : 0);
  if (distinct > 1 && count > 2 * distinct) { // narrow sources have few values: converts each only once
    std::vector<uint64_t> results(distinct);
    for (size_t bits = 0; bits < distinct; ++bits)
      results[bits] = castBits(bits, from, to);
    for (size_t i = 0; i < count; ++i)
      storeBits(out + i * outStep, to, results[loadBits(in + i * inStep, from)]);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    storeBits(out + i * outStep, to, castBits(loadBits(in + i * inStep, from), from, to));
}

void packElements(const void *bytes, void *packed, size_t count) {
  const auto *in = static_cast<const uint8_t *>(bytes);
  auto *out = static_cast<uint8_t *>(packed);
  for (size_t i = 0; i < count; i += 2)
    out[i / 2] = static_cast<uint8_t>((in[i] & 15) | (i + 1 < count ? in[i + 1] << 4 : 0));
}

void unpackElements(const void *packed, DType t, void *bytes, size_t count) {
  const auto *in = static_cast<const uint8_t *>(packed);
  auto *out = static_cast<uint8_t *>(bytes);
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>(castBits(in[i / 2] >> (i % 2 * 4), t, t));
}

} // namespace tessera
