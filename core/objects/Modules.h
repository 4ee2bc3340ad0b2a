// Makes modules from compiled kernels.
#pragma once
#include "core/bundle/Bundle.h"
#include "core/objects/Objects.h"
#include "core/service/CompilerService.h"

namespace tessera {

/// One entry of a module. Its code is `code`; if `module` is null, it is a function of this process.
struct CompiledKernel {
  std::string metadata; // YAML; see core/metadata/KernelMetadata.h
  CpuKernelFn entry = nullptr;
  std::shared_ptr<void> code; // keeps `entry` valid
  EntryKind kind = EntryKind::Kernel;
  std::shared_ptr<DeviceModule> module;
  uint32_t format = TSR_IMAGE_HOST_KERNELS; // TSR_IMAGE_* of the code
  std::string symbol, origin; // with `module`: the entry's symbol there, if known; the image's name in errors
};

/// Makes a module of `kernels` for `context`: parses and checks their metadata, and prepares their launches.
/// On failure returns a status and sets the last error. Tests use it to run kernels of their own without a
/// compiler.
__attribute__((visibility("default"))) tsr_status_t createModule(tsr_context_t context,
                                                                 std::vector<CompiledKernel> kernels,
                                                                 tsr_module_t *module);

/// Where a caller receives the compiler's messages: as text, as structs, as both or not at all.
struct Log {
  tsr_log_fn call = nullptr;
  void *user = nullptr;
  tsr_diagnostic_fn diagnose = nullptr;
  void *diagnoseUser = nullptr;
};

/// Compiles the source that `options` name, following the current mapper's decisions, and returns the
/// bundle's bytes. Diagnostics go to the log; the first error's text becomes the last error.
tsr_status_t compileSource(std::string_view source, CompileOptions options, Log log, std::string &bundle);

/// Returns the text of one kernel's IR at one level, with the same handling of diagnostics.
tsr_status_t inspectSource(std::string_view source, CompileOptions options, Log log, Emit level,
                           std::string &text);

/// Reads the definition that `source` begins with, with the same handling of diagnostics.
tsr_status_t readDefinition(std::string_view source, const CompileOptions &options, Log log, Definition &out);

/// Logs one note per fallback of the module's kernels.
void noteFallbacks(tsr_module_t module, Log log);

/// Warns of kernels that were compiled with another profile than TESSERA_NUMERICS or the configuration
/// file names. `name` is what messages call the module.
void noteNumerics(tsr_module_t module, const std::string &name, Log log);

} // namespace tessera
