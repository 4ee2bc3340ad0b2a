// XXH3-128 detects damage from storage or transport at memory speed. It is not a signature: code is loaded
// only from places that the user trusts, and a cryptographic hash stored with the data would not add
// security.
#define XXH_INLINE_ALL // header only: the runtime links no further library
#include "core/bundle/Hash.h"
#include "core/bundle/Bundle.h"
#include <cstdio>
#include <xxhash.h>

namespace tessera {

Hash128 hash128(std::string_view bytes) {
  XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

Hash128 hashWithHole(std::string_view bytes, size_t hole) {
  static constexpr char zeros[16] = {};
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, bytes.data(), hole);
  XXH3_128bits_update(&state, zeros, sizeof zeros);
  XXH3_128bits_update(&state, bytes.data() + hole + sizeof zeros, bytes.size() - hole - sizeof zeros);
  XXH128_hash_t h = XXH3_128bits_digest(&state);
  return {h.low64, h.high64};
}

std::string hexadecimal(Hash128 hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

std::string contentHash(std::string_view bytes) { return hexadecimal(hash128(bytes)); }

} // namespace tessera
