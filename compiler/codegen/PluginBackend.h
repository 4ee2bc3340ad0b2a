// Targets whose code generator is a codegen plugin (plugin.h): the shared lowering produces LLVM IR, and the
// plugin makes the image.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "core/service/CodegenPlugins.h"

namespace tessera::codegen {

/// Sets where plugins come from; before the first call there are none. Thread-safe.
void setCodegenPlugins(CodegenPlugins &);

/// Returns the target `name`:`architecture` of the codegen plugin `name`, and loads the plugin if necessary.
/// Null: there is no such plugin. An error (E_TARGET_UNKNOWN): the plugin is refused, its answers break a
/// rule, or it has no such architecture. The target lives for the lifetime of the process; it does not keep
/// its plugin registered.
Expected<const Target *> findPluginTarget(llvm::StringRef name, llvm::StringRef architecture);

/// Names of the available plugins, for messages.
std::vector<std::string> codegenPluginNames();

} // namespace tessera::codegen
