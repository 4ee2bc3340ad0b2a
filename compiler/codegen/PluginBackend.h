// Targets whose code generator is a codegen plugin (plugin.h): the shared lowering goes as far as LLVM IR,
// and the plugin makes the image.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "core/service/CodegenPlugins.h"

namespace tessera::codegen {

/// Where plugins come from; before the first call there are none. Thread-safe.
void setCodegenPlugins(CodegenPlugins &);

/// The target `name`:`architecture` of the codegen plugin `name`, which is loaded if it must be. Null: there
/// is no such plugin. An error (E_TARGET_UNKNOWN): the plugin is refused, its answers break a rule, or it has
/// no such architecture. The target lives as long as the process; it does not keep its plugin registered.
Expected<const Target *> findPluginTarget(llvm::StringRef name, llvm::StringRef architecture);

/// Names of the plugins there are, for messages.
std::vector<std::string> codegenPluginNames();

} // namespace tessera::codegen
