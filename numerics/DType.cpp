#include "numerics/DType.h"
#include "numerics/DTypeAliases.h"
#include <iterator>
#include <utility>

namespace tessera {
namespace {

constexpr auto Float = DTypeClass::Float;
constexpr auto Signed = DTypeClass::SignedInt;
constexpr auto Unsigned = DTypeClass::UnsignedInt;

// Rows are in the order of the enumeration, columns in the order of DTypeInfo.
constexpr DTypeInfo kDTypes[] = {
    {DType::F64, "f64", Float, 64, 8, 52, 1023, -1022, true, true},
    {DType::F32, "f32", Float, 32, 4, 23, 127, -126, true, true},
    {DType::F16, "f16", Float, 16, 2, 10, 15, -14, true, true},
    {DType::BF16, "bf16", Float, 16, 2, 7, 127, -126, true, true},
    {DType::TF32, "tf32", Float, 19, 4, 10, 127, -126, true, true},
    {DType::F8E4M3, "fp8_e4m3", Float, 8, 1, 3, 8, -6, false, true},
    {DType::F8E5M2, "fp8_e5m2", Float, 8, 1, 2, 15, -14, true, true},
    {DType::F6E2M3, "fp6_e2m3", Float, 6, 1, 3, 2, 0, false, false},
    {DType::F6E3M2, "fp6_e3m2", Float, 6, 1, 2, 4, -2, false, false},
    {DType::F4E2M1, "fp4_e2m1", Float, 4, 1, 1, 2, 0, false, false},
    {DType::I64, "i64", Signed, 64, 8, 0, 0, 0, false, false},
    {DType::I32, "i32", Signed, 32, 4, 0, 0, 0, false, false},
    {DType::I16, "i16", Signed, 16, 2, 0, 0, 0, false, false},
    {DType::I8, "i8", Signed, 8, 1, 0, 0, 0, false, false},
    {DType::U8, "u8", Unsigned, 8, 1, 0, 0, 0, false, false},
    {DType::Bool, "bool", DTypeClass::Bool, 1, 1, 0, 0, 0, false, false},
    {DType::U16, "u16", Unsigned, 16, 2, 0, 0, 0, false, false},
    {DType::U32, "u32", Unsigned, 32, 4, 0, 0, 0, false, false},
    {DType::U64, "u64", Unsigned, 64, 8, 0, 0, 0, false, false},
    {DType::I4, "i4", Signed, 4, 1, 0, 0, 0, false, false, 2},
    {DType::U4, "u4", Unsigned, 4, 1, 0, 0, 0, false, false, 2},
};

constexpr bool rowsMatchEnumerators() {
  for (size_t i = 0; i < std::size(kDTypes); ++i)
    if (static_cast<size_t>(kDTypes[i].dtype) != i) return false;
  return std::size(kDTypes) == static_cast<size_t>(DType::U4) + 1;
}
static_assert(rowsMatchEnumerators());

constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"fp64", DType::F64},
    {"float64", DType::F64},
    {"double", DType::F64},
    {"fp32", DType::F32},
    {"float32", DType::F32},
    {"float", DType::F32},
    {"fp16", DType::F16},
    {"float16", DType::F16},
    {"half", DType::F16},
    {"bfloat16", DType::BF16},
    {"fp8", DType::F8E4M3},
    {"f8", DType::F8E4M3},
    {"e4m3", DType::F8E4M3},
    {"f8_e4m3", DType::F8E4M3},
    {"fp8_e4m3fn", DType::F8E4M3},
    {"float8_e4m3fn", DType::F8E4M3},
    {"float8_e4m3", DType::F8E4M3},
    {"e5m2", DType::F8E5M2},
    {"f8_e5m2", DType::F8E5M2},
    {"float8_e5m2", DType::F8E5M2},
    {"fp6", DType::F6E2M3},
    {"e2m3", DType::F6E2M3},
    {"f6_e2m3", DType::F6E2M3},
    {"float6_e2m3fn", DType::F6E2M3},
    {"e3m2", DType::F6E3M2},
    {"f6_e3m2", DType::F6E3M2},
    {"float6_e3m2fn", DType::F6E3M2},
    {"fp4", DType::F4E2M1},
    {"e2m1", DType::F4E2M1},
    {"f4_e2m1", DType::F4E2M1},
    {"float4_e2m1fn", DType::F4E2M1},
    {"int64", DType::I64},
    {"int32", DType::I32},
    {"int16", DType::I16},
    {"int8", DType::I8},
    {"uint64", DType::U64},
    {"uint32", DType::U32},
    {"uint16", DType::U16},
    {"uint8", DType::U8},
    {"int4", DType::I4},
    {"uint4", DType::U4},
    {"boolean", DType::Bool},
    {"i1", DType::Bool},
    {"bool_", DType::Bool},
};

} // namespace

const DTypeInfo &info(DType t) { return kDTypes[static_cast<size_t>(t)]; }

std::span<const DTypeInfo> allDTypes() { return kDTypes; }

std::span<const std::pair<std::string_view, DType>> dtypeAliases() { return kAliases; }

bool holds(DType wide, DType narrow) {
  const DTypeInfo &w = info(wide), &n = info(narrow);
  if (isFloat(wide) != isFloat(narrow)) return false;
  if (isFloat(wide))
    return w.mantissaBits >= n.mantissaBits && w.maxExponent >= n.maxExponent &&
           w.minExponent - w.mantissaBits <= n.minExponent - n.mantissaBits && (w.hasInf || !n.hasInf) &&
           (w.hasNaN || !n.hasNaN);
  return wide == narrow || (!isUnsigned(wide) && w.bits > n.bits) ||
         (isUnsigned(wide) && isUnsigned(narrow) && w.bits >= n.bits);
}

std::optional<DType> parseDType(std::string_view text) {
  for (const DTypeInfo &row : kDTypes)
    if (text == row.name) return row.dtype;
  for (const auto &[alias, dtype] : kAliases)
    if (text == alias) return dtype;
  return std::nullopt;
}

} // namespace tessera
