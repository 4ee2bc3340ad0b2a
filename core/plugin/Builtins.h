// The plugins inside libtessera.so: queried as any other, never loaded. Core refers to none of them: what the
// library consists of is registered when it is loaded (runtime/Parts.cpp).
#pragma once
#include <span>
#include <tessera/plugin.h>

namespace tessera {

struct Builtin {
  const char *name;
  tsr_plugin_query_fn query;
};

std::span<const Builtin> builtinPlugins();
/// `plugins` must live as long as the process. Call it before any other thread exists.
void setBuiltinPlugins(std::span<const Builtin> plugins);

} // namespace tessera
