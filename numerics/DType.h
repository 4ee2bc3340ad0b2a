// The dtypes of the language (decision D13) and the properties that all layers use. fp8, fp6 and fp4 are the
// formats of the OCP specifications "OFP8" and "Microscaling Formats" (e4m3 is E4M3FN). All functions are
// pure and thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

enum class DType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  TF32,
  F8E4M3,
  F8E5M2,
  F6E2M3,
  F6E3M2,
  F4E2M1,
  I64,
  I32,
  I16,
  I8,
  U8,
  Bool,
  U16,
  U32,
  U64,
  I4,
  U4,
};

enum class DTypeClass : uint8_t { Float, SignedInt, UnsignedInt, Bool };

struct DTypeInfo {
  DType dtype;
  const char *name; // canonical spelling: "f32", "fp8_e4m3", ...
  DTypeClass cls;
  uint8_t bits;         // bits of the format (tf32: 19)
  uint8_t storageBytes; // bytes one element takes in memory (fp6, fp4 and bool: 1, in the low bits; tf32: 4)
  uint8_t mantissaBits; // explicit mantissa bits of a float, else 0
  int16_t maxExponent;  // unbiased exponent of the largest finite value
  int16_t minExponent;  // unbiased exponent of the smallest normal value
  bool hasInf, hasNaN;
  uint8_t perByte = 1; // elements of a tensor in one byte: 2 of i4 and u4, else 1
};

/// Returns the properties of one dtype; never fails.
const DTypeInfo &info(DType);
inline const char *name(DType t) { return info(t).name; }
inline int storageBytes(DType t) { return info(t).storageBytes; }
/// Do several elements of a tensor share a byte? Element L, counted with the tensor's strides, is in byte L
/// // 2: an even one in the low four bits, an odd one in the high ones. Alone, in registers or on the host,
/// one takes a byte.
inline bool isPacked(DType t) { return info(t).perByte > 1; }
/// Returns the bytes that a tensor of this many elements takes in memory.
inline int64_t tensorBytes(DType t, int64_t elements) {
  return isPacked(t) ? elements / info(t).perByte + (elements % info(t).perByte != 0)
                     : elements * storageBytes(t);
}
inline bool isFloat(DType t) { return info(t).cls == DTypeClass::Float; }
inline bool isInt(DType t) {
  return info(t).cls == DTypeClass::SignedInt || info(t).cls == DTypeClass::UnsignedInt;
}
inline bool isUnsigned(DType t) { return info(t).cls == DTypeClass::UnsignedInt; }

/// Has `wide` every value of `narrow`? A float has no integers' values and the other way round.
bool holds(DType wide, DType narrow);

/// Returns all dtypes in declaration order.
std::span<const DTypeInfo> allDTypes();

/// Parses a canonical name or an alias (fp32, float32, half, bfloat16, int8, uint8, boolean, ...). Returns
/// nullopt when it is unknown. A width without a format means the format with more mantissa bits: fp8 is
/// fp8_e4m3, fp6 is fp6_e2m3, fp4 is fp4_e2m1.
std::optional<DType> parseDType(std::string_view);

} // namespace tessera
