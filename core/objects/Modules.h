// Compiled kernels become a module.
#pragma once
#include "core/bundle/Bundle.h"
#include "core/objects/Objects.h"
#include "core/service/CompilerService.h"

namespace tessera {

/// One entry of a module. Its code is in `code`, where `module` is null a function of this process.
struct CompiledKernel {
  std::string metadata; // YAML; see core/metadata/KernelMetadata.h
  CpuKernelFn entry = nullptr;
  std::shared_ptr<void> code; // keeps `entry` valid
  EntryKind kind = EntryKind::Kernel;
  std::shared_ptr<DeviceModule> module;
  uint32_t format = TSR_IMAGE_HOST_KERNELS; // TSR_IMAGE_* of the code
  std::string symbol, origin; // with `module`: the entry's symbol there, if known; what errors call the image
};

/// Makes a module of `kernels` for `context`: parses and checks their metadata, prepares their launches. On
/// failure returns a status with the last error set. Also how tests bring in kernels of their own, without a
/// compiler.
__attribute__((visibility("default"))) tsr_status_t createModule(tsr_context_t context,
                                                                 std::vector<CompiledKernel> kernels,
                                                                 tsr_module_t *module);

/// Where a caller receives the compiler's messages: as text, as structs, both or neither.
struct Log {
  tsr_log_fn call = nullptr;
  void *user = nullptr;
  tsr_diagnostic_fn diagnose = nullptr;
  void *diagnoseUser = nullptr;
};

/// Compiles what `options` name, as the mapper in force decides; the bundle's bytes. Diagnostics go to the
/// log, the first error's text becomes the last error.
tsr_status_t compileSource(std::string_view source, CompileOptions options, Log log, std::string &bundle);

/// The text of one kernel at one level, under the same rules.
tsr_status_t inspectSource(std::string_view source, CompileOptions options, Log log, Emit level,
                           std::string &text);

/// One note per fallback the kernels of the module take.
void noteFallbacks(tsr_module_t module, Log log);

} // namespace tessera
