// The compiler with the compile cache in front of it.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera {

/// Returns a CompilerService that answers signatures() and compile() from the cache if possible, and loads
/// the compiler otherwise. Never returns null. The object lives as long as the process and is thread-safe. If
/// the compiler is missing, calls report the diagnostic E_NO_COMPILER.
CompilerService *cachedCompiler();

} // namespace tessera
