// CPU code as an ELF shared object in memory, made runnable.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace tessera::cpu {

/// Checks the header, so that another machine's file gets a sentence and a cut one does not reach the dynamic
/// linker. Fills `why` when it is no shared object for this process.
[[nodiscard]] bool checkSharedObject(std::string_view bytes, std::string &why);

/// Where the dynamic linker gets the file from.
enum class ObjectHome { Any, Memory, TemporaryFile }; // Any: memory, or a file where memory is not executable

/// Loads the object; it is unloaded with the last copy of the pointer. Null with `why` filled on failure.
/// Runs its constructors: load only what you trust. Thread-safe.
std::shared_ptr<void> loadSharedObject(std::string_view bytes, std::string &why,
                                       ObjectHome home = ObjectHome::Any);

/// Address of an exported symbol, or null.
const void *findSymbol(const std::shared_ptr<void> &object, const std::string &symbol);

} // namespace tessera::cpu
