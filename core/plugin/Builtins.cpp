#include "core/plugin/Builtins.h"

namespace tessera {

std::span<const Builtin> builtinPlugins() {
  // One row each: {"name", query}.
  return {};
}

} // namespace tessera
