// What the runtime asks of mappers, which stand above it. Defined in mapper/host/Variants.cpp.
#pragma once
#include "core/CompilerService.h"
#include <string_view>
#include <tessera/status.h>
#include <vector>

namespace tessera {

/// Asks the mapper in force, if there is one, about every open choice of the program and adds its answers to
/// `options.decisions`. Loads the compiler, which knows the choices, only when there is somebody to ask. A
/// failure leaves an error in `diags`. Exported by libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) tsr_status_t decideVariants(std::string_view source,
                                                                   CompileOptions &options,
                                                                   std::vector<Diagnostic> &diags);

} // namespace tessera
