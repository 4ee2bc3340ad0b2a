// Loads libtessera-compiler.so on first use, so that a process that only launches kernels never maps LLVM.
// The functions that libtessera.so exports are for its tools. Thread-safe.
#pragma once
#include "core/service/CompilerService.h"
#include "core/support/Expected.h"

namespace tessera {

/// Loads the compiler from the folder of libtessera.so, else from the default search path, and returns it. It
/// is loaded once. Errors: E_NO_COMPILER if it is not installed, cannot be loaded, or is of another build;
/// E_OUT_OF_MEMORY if the process has too little address space for it. After an error the next call tries
/// again.
__attribute__((visibility("default"))) Expected<CompilerService *> loadCompiler();

/// Returns the path of the library that loadCompiler() would load; "" if it cannot be found without loading
/// it.
std::string compilerFile();

/// The compiler that this process has loaded: its files (core/service/CompilerObjects.h) and their identity
/// at load time, which later updates on disk do not change. Both are empty before the compiler is loaded.
struct LoadedCompiler {
  std::vector<std::string> files;
  std::string identity;
};
__attribute__((visibility("default"))) LoadedCompiler loadedCompiler();

} // namespace tessera
