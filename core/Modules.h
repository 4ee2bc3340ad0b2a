// Compiled kernels become a module.
#pragma once
#include "core/CompilerService.h"
#include "core/Objects.h"

namespace tessera {

/// Makes a module of `kernels` for `context`: parses and checks their metadata, prepares their launches. On
/// failure returns a status with the last error set. Also how tests bring in kernels of their own, without a
/// compiler.
__attribute__((visibility("default"))) tsr_status_t createModule(tsr_context_t context,
                                                                 std::vector<CompiledKernel> kernels,
                                                                 tsr_module_t *module);

/// Compiles the kernels `options.kernel` names (empty: every tile kernel of the source).
tsr_status_t compileKernels(std::string_view source, CompileOptions options, tsr_log_fn log, void *logUser,
                            std::vector<CompiledKernel> &out);

} // namespace tessera
