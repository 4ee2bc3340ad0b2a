// The compiler behind the compile cache.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera {

/// A CompilerService that answers signatures() and compile() from the cache where it can, and loads the
/// compiler only where it cannot. Never null, lives as long as the process, thread-safe. Where the compiler
/// is missing it says so as a diagnostic, E_NO_COMPILER.
CompilerService *cachedCompiler();

/// Path of the compiler library that loadCompiler() would load; empty when there is none to be found without
/// loading it. Defined in core/service/CompilerLoader.cpp, as the next.
std::string compilerFile();

/// The compiler as this process has loaded it: its files (core/cache/CompilerObjects.h) and their identity
/// then, which later updates on disk do not change. Both empty before it is loaded. Exported by libtessera.so
/// as loadCompiler() is, so that both come from one loader where a tool has its own.
struct LoadedCompiler {
  std::vector<std::string> files;
  std::string identity;
};
__attribute__((visibility("default"))) LoadedCompiler loadedCompiler();

} // namespace tessera
