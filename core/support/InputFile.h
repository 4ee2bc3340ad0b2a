// Reads whole files. All code that needs a complete file before it starts uses this function.
#pragma once
#include "core/support/Expected.h"
#include <cstddef>
#include <string>

namespace tessera {

/// Reads a regular file of at most `limit` bytes. Pipes and devices are refused, since they may block the
/// caller forever. Errors have code E_FILE_READ and a message that does not name the path.
Expected<std::string> readFile(const std::string &path, size_t limit);

} // namespace tessera
