// Loads libtessera-compiler.so on first use, so that a process which only launches never maps LLVM. What
// libtessera.so exports of this is for its tools. Thread-safe.
#pragma once
#include "core/service/CompilerService.h"
#include "core/support/Expected.h"

namespace tessera {

/// The compiler from beside libtessera.so, else from the default search path; loaded once. Errors:
/// E_NO_COMPILER if it is not installed, cannot be loaded, or is of another build; E_OUT_OF_MEMORY if the
/// process has no room for it. An error is not kept: the next call tries again.
__attribute__((visibility("default"))) Expected<CompilerService *> loadCompiler();

/// Path of the library that loadCompiler() would load; empty if it cannot be found without loading it.
std::string compilerFile();

/// The compiler as this process has loaded it: its files (core/service/CompilerObjects.h) and their identity
/// at that time, which later updates on disk do not change. Both empty before it is loaded.
struct LoadedCompiler {
  std::vector<std::string> files;
  std::string identity;
};
__attribute__((visibility("default"))) LoadedCompiler loadedCompiler();

} // namespace tessera
