// The environment variables Tessera reads. An unknown TESSERA_* one is warned about in the log.
#pragma once
#include "core/config/Names.h"
#include <vector>

namespace tessera {

/// Looks through the process's environment and logs a warning for each TESSERA_* variable that has no effect,
/// each once.
void warnAboutUnknownVariables();

/// The warnings for `entries` ("NAME=value", null-terminated), with the nearest known name.
std::vector<std::string> unknownVariableWarnings(const char *const *entries);

} // namespace tessera
