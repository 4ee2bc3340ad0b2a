// The hash bundles carry.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128 &) const = default;
};

Hash128 hash128(std::string_view bytes);
/// The same with the 16 bytes at `hole` taken as zero; hole + 16 <= size.
Hash128 hashWithHole(std::string_view bytes, size_t hole);
std::string hexadecimal(Hash128 hash);

} // namespace tessera
