// Tuned configurations may not change the bits of a profile that fixes them.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera {

/// In a profile without unordered atomics, removes the tuned bodies whose sums have another order than those
/// of the default: other extents of a tile along with which it is reduced, or other steps of a loop that
/// carries floats. Warns of each (W_TUNED). What does not compile stays, for the compilation to report.
void dropReorderedBodies(std::string_view source, CompileOptions &, std::vector<Diagnostic> &);

} // namespace tessera
