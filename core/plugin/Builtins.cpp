#include "core/plugin/Builtins.h"

namespace tessera {
namespace {

constinit std::span<const Builtin> registered;

} // namespace

std::span<const Builtin> builtinPlugins() { return registered; }

void setBuiltinPlugins(std::span<const Builtin> plugins) { registered = plugins; }

} // namespace tessera
