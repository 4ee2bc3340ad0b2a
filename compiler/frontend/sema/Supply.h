// What a source leaves to its caller: the types of parameters that have none, and the values of names that it
// uses and does not define. A language binding takes them from the arguments of a call and from the
// function's surroundings.
#pragma once
#include "compiler/frontend/sema/ModuleData.h"
#include "core/service/CompilerService.h"

namespace tessera::frontend {

/// Gives the functions of `m` the types, as if each had been written behind its parameter: what is wrong with
/// one is reported there. For a parsed module whose names are not resolved yet.
void supplyTypes(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink);

/// Defines the constants. For a module whose names are resolved: what the source defines is its own.
void supplyConstants(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink);

} // namespace tessera::frontend
