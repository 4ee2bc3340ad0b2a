// The environment variables Tessera reads. An unknown TESSERA_* one, or one that is reserved and not read
// yet, is warned about in the log.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Value of a known variable; empty and unset are the same.
std::string environment(const char *name);

/// Looks through the process's environment and logs a warning for each TESSERA_* variable that has no effect,
/// each once.
void warnAboutUnknownVariables();

/// The warnings for `entries` ("NAME=value", null-terminated), with the nearest known name.
std::vector<std::string> unknownVariableWarnings(const char *const *entries);

/// The candidate nearest to `word` when a slip of the pen may explain the difference, else empty.
std::string_view nearestName(std::string_view word, const std::string_view *begin,
                             const std::string_view *end);

} // namespace tessera
