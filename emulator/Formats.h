// The dtypes that matrix instructions multiply, as they are in registers and in shared memory.
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::emulator {

/// A dtype of A and B: the bytes of an element, and its value.
struct Format {
  size_t bytes;
  double (*read)(const void *);
};

template <typename T> T bitsAt(const void *from) {
  T bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}
template <typename T>
constexpr Format kPlain = {sizeof(T), [](const void *p) { return double(bitsAt<T>(p)); }};
inline constexpr Format kBf16 = {
    2, [](const void *p) -> double { return std::bit_cast<float>(uint32_t{bitsAt<uint16_t>(p)} << 16); }};
inline constexpr Format kF16 = kPlain<_Float16>;
/// The lower 13 bits are not read.
inline constexpr Format kTf32 = {
    4, [](const void *p) -> double { return std::bit_cast<float>(bitsAt<uint32_t>(p) & ~0x1fffu); }};
/// The upper half of an f16.
inline constexpr Format kE5M2 = {1, [](const void *p) -> double {
                                   return std::bit_cast<_Float16>(
                                       static_cast<uint16_t>(bitsAt<uint8_t>(p) << 8));
                                 }};
inline double readE4M3(uint8_t bits, int bias) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const double size = std::ldexp(exponent ? 8 + mantissa : mantissa, (exponent ? exponent : 1) - bias - 3);
  return bits & 0x80 ? -size : size;
}
/// OCP: no infinities, the largest magnitude is a NaN.
inline constexpr Format kE4M3 = {1, [](const void *p) {
                                   const auto bits = bitsAt<uint8_t>(p);
                                   return (bits & 0x7f) == 0x7f ? std::nan("") : readE4M3(bits, 7);
                                 }};
/// CDNA 3 ISA: neither infinities nor -0, whose bits are the only NaN.
inline constexpr Format kE4M3Fnuz = {1, [](const void *p) {
                                       const auto bits = bitsAt<uint8_t>(p);
                                       return bits == 0x80 ? std::nan("") : readE4M3(bits, 8);
                                     }};

} // namespace tessera::emulator
