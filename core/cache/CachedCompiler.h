// The compiler behind the compile cache.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera {

/// A CompilerService that answers signatures() and compile() from the cache where it can, and loads the
/// compiler only where it cannot. Never null, lives as long as the process, thread-safe. Where the compiler
/// is missing it says so as a diagnostic, E_NO_COMPILER.
CompilerService *cachedCompiler();

} // namespace tessera
