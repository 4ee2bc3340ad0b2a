// The one way to read a file that must be there whole before anything is done with it.
#pragma once
#include "core/support/Expected.h"
#include <cstddef>
#include <string>

namespace tessera {

/// Reads a regular file of at most `limit` bytes. Nothing else is read, since a pipe or a device may make the
/// caller wait forever. The error is of code E_FILE_READ, with a
/// message that does not name the path.
Expected<std::string> readFile(const std::string &path, size_t limit);

} // namespace tessera
