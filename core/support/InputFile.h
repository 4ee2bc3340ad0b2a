// The one way to read a file that must be there whole before anything is done with it.
#pragma once
#include <cstddef>
#include <string>

namespace tessera {

/// Reads a regular file of at most `limit` bytes. Nothing else is read, since a pipe or a device may make the
/// caller wait for ever. False with the reason, which does not name the path.
[[nodiscard]] bool readFile(const std::string &path, size_t limit, std::string &bytes, std::string &why);

} // namespace tessera
