// Separates the compiler's calls from the end of the process: exit() destroys the static objects of the
// compiler and of LLVM, which other threads may be using.
#pragma once
#include "core/service/CompilerService.h"
#include <optional>

namespace tessera {

/// Wraps `compiler` so that exit() waits for its calls. A call that starts after exit() fails with E_ENDING.
/// A call fails with E_OUT_OF_MEMORY while the process has less memory left than a compilation needs. Call
/// this after the compiler's library has been loaded, so that the library's static objects are destroyed
/// after the wait. The static objects of a function are also destroyed after the wait if the call that first
/// ran the function has ended. There is one wrapper per process.
/// A fork waits for the calls of other threads, for ten seconds at most, so that its child can compile.
/// Calls have the options that withDebug() returns.
CompilerService *gatedCompiler(CompilerService *compiler);

/// Returns the options with the constant __debug__ if TESSERA_DEBUG is on: `given`, or a copy in `own`. The
/// caller's own value stays, and IR takes no constants.
const CompileOptions &withDebug(const CompileOptions &given, std::optional<CompileOptions> &own);

} // namespace tessera
