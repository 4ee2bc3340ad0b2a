// Checks that operations which all lanes of a program must reach together are not under a condition that
// differs between lanes.
#pragma once
#include "compiler/frontend/diagnostics/Diagnostics.h"
#include "compiler/frontend/program/Program.h"

namespace tessera::frontend {

/// Runs on the elaborated body, before the grid may make the guard of a linear_id() program redundant.
/// Reports barriers, wait groups and group reductions in divergent control flow.
void checkDivergence(const Kernel &, DiagnosticSink &);

} // namespace tessera::frontend
