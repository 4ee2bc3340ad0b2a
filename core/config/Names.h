// Variables of the environment, and names that were mistyped.
#pragma once
#include <string>
#include <string_view>

namespace tessera {

/// Value of a variable; empty and unset are the same, and so are all of them in a program that runs with
/// another user's rights: who starts it may have set them.
std::string environment(const char *name);

/// The candidate nearest to `word` when a slip of the pen may explain the difference, else empty.
std::string_view nearestName(std::string_view word, const std::string_view *begin,
                             const std::string_view *end);

} // namespace tessera
