// The plugins linked into libtessera.so. They are queried like any other plugin and never loaded from a file.
// Core does not reference them: runtime/Parts.cpp registers the parts of the library when it is loaded.
#pragma once
#include <span>
#include <tessera/plugin.h>

namespace tessera {

struct Builtin {
  const char *name;
  tsr_plugin_query_fn query;
};

std::span<const Builtin> builtinPlugins();
/// Sets the builtin plugins. `plugins` must live as long as the process. Call this before any other thread
/// exists.
void setBuiltinPlugins(std::span<const Builtin> plugins);

} // namespace tessera
