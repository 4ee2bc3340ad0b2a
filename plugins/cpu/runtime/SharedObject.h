// Loads CPU code from an ELF shared object in memory.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tessera::cpu {

/// Checks the header, so that a file for another machine gets a clear message and a truncated file does not
/// reach the dynamic linker. Fills `why` and returns false when it is not a shared object for this process.
[[nodiscard]] bool checkSharedObject(std::string_view bytes, std::string &why);

/// Where the file that the dynamic linker opens is stored.
enum class ObjectHome { Any, Memory, TemporaryFile }; // Any: memory, or a file if memory is not executable

/// Loads the object; it is unloaded with the last copy of the pointer. Fills `why` and returns null on
/// failure. Runs the object's constructors, so load only trusted code. Thread-safe.
std::shared_ptr<void> loadSharedObject(std::string_view bytes, std::string &why,
                                       ObjectHome home = ObjectHome::Any);

/// Returns the address of an exported symbol, or null.
const void *findSymbol(const std::shared_ptr<void> &object, const std::string &symbol);

} // namespace tessera::cpu
