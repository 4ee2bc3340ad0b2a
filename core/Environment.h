// The environment variables Tessera reads. An unknown TESSERA_* one, or one that is reserved and not read
// yet, is warned about once per process.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

/// Value of a known variable; empty and unset are the same.
std::string environment(const char *name);

/// Looks through the process's environment, once, and writes a warning to stderr for each TESSERA_* variable
/// that has no effect, with the nearest known name.
void warnAboutUnknownVariables();

/// The warnings for `entries` ("NAME=value", null-terminated), one line each.
std::string unknownVariableWarnings(const char *const *entries);

/// The candidate nearest to `word` when a slip of the pen may explain the difference, else empty.
std::string_view nearestName(std::string_view word, const std::string_view *begin,
                             const std::string_view *end);

} // namespace tessera
