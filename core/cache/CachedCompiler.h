// The compiler behind the compile cache.
#pragma once
#include "core/CompilerService.h"

namespace tessera {

/// A CompilerService that answers signatures() and compile() from the cache where it can, and loads the
/// compiler only where it cannot. Never null, lives as long as the process, thread-safe. Where the compiler
/// is missing it says so as a diagnostic, E_NO_COMPILER.
CompilerService *cachedCompiler();

/// Path of the compiler library that loadCompiler() would load; empty when there is none to be found without
/// loading it. Defined in core/CompilerLoader.cpp.
std::string compilerFile();

} // namespace tessera
