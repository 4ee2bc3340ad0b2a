// The environment variables Tessera reads.
#pragma once
#include "core/config/Names.h"
#include <vector>

namespace tessera {

/// Returns a warning for each TESSERA_* variable among `entries` ("NAME=value", null-terminated) that has no
/// effect, because its name is unknown (the warning suggests the nearest known name) or its value is not
/// valid.
std::vector<std::string> unknownVariableWarnings(const char *const *entries);

} // namespace tessera
