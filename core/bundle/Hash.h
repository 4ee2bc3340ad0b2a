// The hash used in bundles.
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
/// As hash128, with the 16 bytes at `hole` read as zero. Precondition: hole + 16 <= size.
Hash128 hashWithHole(std::string_view bytes, size_t hole);
std::string hexadecimal(Hash128 hash);

} // namespace tessera
