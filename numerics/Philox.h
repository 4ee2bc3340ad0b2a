// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As
// Easy as 1, 2, 3" (SC'11). It defines the language's rand(), so that a program draws the same numbers on
// every backend.
#pragma once
#include <array>
#include <cstdint>

namespace tessera {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85; // added to the key after each round
constexpr int kPhiloxRounds = 10;

/// Returns four random words for one counter.
constexpr PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t(kPhiloxMultiplier0) * c[0], p1 = uint64_t(kPhiloxMultiplier1) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ key[0], uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ key[1], uint32_t(p0)};
    key = {key[0] + kPhiloxWeyl0, key[1] + kPhiloxWeyl1};
  }
  return c;
}

/// Implements ts.rand(seed, offset): uniform in [0, 1), a multiple of 2^-24. The seed is the key; the offset
/// is words 0 and 1 of the counter.
constexpr float philoxUniform(uint64_t seed, uint64_t offset) {
  const PhiloxCounter words =
      philox4x32({uint32_t(offset), uint32_t(offset >> 32), 0, 0}, {uint32_t(seed), uint32_t(seed >> 32)});
  return static_cast<float>(words[0] >> 8) * 0x1p-24f;
}

} // namespace tessera
