// Plugins that are broken in one way each, which KIT_BROKEN names when they are loaded: the conformance kit
// must detect each. Without the variable they are sound.
#pragma once
#include <cstdlib>
#include <string_view>

namespace kit {

inline bool is(std::string_view way) {
  static const char *const chosen = std::getenv("KIT_BROKEN");
  return chosen && way == chosen;
}

} // namespace kit
