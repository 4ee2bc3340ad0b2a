// The environment variables Tessera reads.
#pragma once
#include "core/config/Names.h"
#include <vector>

namespace tessera {

/// A warning for each TESSERA_* variable among `entries` ("NAME=value", null-terminated) that has no effect:
/// its name is unknown (the warning has the nearest known one), or its value is.
std::vector<std::string> unknownVariableWarnings(const char *const *entries);

} // namespace tessera
