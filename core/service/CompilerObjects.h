// The files the compiler consists of. An update of any one, LLVM's libraries among them, makes another
// compiler. Thread-safe.
#pragma once
#include <string>
#include <vector>

namespace tessera {

/// The shared object that holds `address`, then those it is linked with, where the dynamic linker took them
/// from: absolute paths, links not followed. Empty where there is none, or it is the program itself.
std::vector<std::string> objectsOf(const void *address);

/// Path, size, inode and time of each as they are now. Empty for no files, and when one is not there.
std::string identityOf(const std::vector<std::string> &files);

} // namespace tessera
