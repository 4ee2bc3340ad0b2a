// What a source leaves to its caller: the types of parameters that have none, and the values of names that it
// uses but does not define. A language binding takes them from the arguments of a call and from the variables
// around the function.
#pragma once
#include "compiler/frontend/sema/ModuleData.h"
#include "core/service/CompilerService.h"

namespace tessera::frontend {

/// Gives the functions of `m` the types, as if each had been written after its parameter; errors are reported
/// there. The names of the module must not be resolved yet.
void supplyTypes(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink);

/// Replaces chains of attributes, config.BLOCK, by the values of the constants of such names, and in
/// annotations names of constants that are types of tensors, by these. The names of the module must not be
/// resolved yet.
void supplyAttributes(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink);

/// Defines the constants. The names of the module must be resolved: a definition in the source takes
/// precedence.
void supplyConstants(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink);

} // namespace tessera::frontend
