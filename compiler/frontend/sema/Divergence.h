// Checks that what all lanes of a program have to reach together is not under a condition that differs by
// lane.
#pragma once
#include "compiler/frontend/diagnostics/Diagnostics.h"
#include "compiler/frontend/program/Program.h"

namespace tessera::frontend {

/// Runs on the elaborated body, before the guard of a linear_id() program may have been dropped by its grid.
/// Reports barriers, wait groups and group reductions in divergent control flow.
void checkDivergence(const Kernel &, DiagnosticSink &);

} // namespace tessera::frontend
