// Takes tuned configurations into a compilation.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera {

/// Fills `options.tuned` with the configurations that measurements chose for the kernels and targets of
/// `options`. Does nothing for IR, if the caller gives values of tunables, or if the profile freezes them.
/// `compiler` reads the signatures of the source. A faulty look-up file is reported once in a process, as a
/// warning.
void findTuned(CompilerService &compiler, std::string_view source, CompileOptions &options,
               std::vector<Diagnostic> &diags);

} // namespace tessera
