// What other libraries have and the language does not: how it is written here.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tessera::ops {

/// The hint for a name of another library that is no op and no dtype here; nothing when the name is not
/// known. `prefix` is what the ops of the place begin with: "ts." or "ts.tile.".
std::optional<std::string> foreignHint(std::string_view name, const std::string &prefix);

} // namespace tessera::ops
