// Finds and loads codegen plugins, for the compiler and for the compile cache.
#pragma once
#include "core/service/CodegenPlugins.h"

namespace tessera {

/// Codegen plugins of the plugin directories and those that the program registered. Lives as long as the
/// process.
CodegenPlugins &loadedCodegenPlugins();

} // namespace tessera
