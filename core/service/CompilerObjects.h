// The files of the compiler. An update of any of them, including LLVM's libraries, counts as another
// compiler. Thread-safe.
#pragma once
#include <string>
#include <vector>

namespace tessera {

/// Returns the shared object that contains `address`, then the objects it is linked with, as the dynamic
/// linker found them: absolute paths, with symbolic links not resolved. Returns an empty list if there is no
/// such object, or if it is the program itself.
std::vector<std::string> objectsOf(const void *address);

/// Returns path, size, inode and modification time of each file as they are at the time of the call. Returns
/// "" if there are no files or one does not exist.
std::string identityOf(const std::vector<std::string> &files);

} // namespace tessera
