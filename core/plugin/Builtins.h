// The plugins inside libtessera.so: queried as any other, never loaded.
#pragma once
#include <span>
#include <tessera/plugin.h>

namespace tessera {

struct Builtin {
  const char *name;
  tsr_plugin_query_fn query;
};

std::span<const Builtin> builtinPlugins();

} // namespace tessera
