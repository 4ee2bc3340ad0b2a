// Keeps the compiler's calls and the end of the process apart: exit() destroys the static objects of the
// compiler and of LLVM, which other threads may be using.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera {

/// `compiler`, whose calls exit() waits for. Later ones fail with E_ENDING, and any fails with
/// E_OUT_OF_MEMORY while the process has less memory left than a compilation takes. Ask for it after the
/// compiler's library has been loaded, so that its static objects are destroyed after the wait. Static
/// objects of functions are, too, if a call that has ended was the first to run the function. One for the
/// process.
CompilerService *gatedCompiler(CompilerService *compiler);

} // namespace tessera
