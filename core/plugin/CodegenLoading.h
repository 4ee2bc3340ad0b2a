// Finds and loads codegen plugins, for the compiler and for the compile cache.
#pragma once
#include "core/service/CodegenPlugins.h"

namespace tessera {

/// Returns the codegen plugins of the plugin directories and those that the program registered. The object
/// lives as long as the process.
CodegenPlugins &loadedCodegenPlugins();

} // namespace tessera
