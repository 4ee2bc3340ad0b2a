#include "core/plugin/Builtins.h"

namespace tessera {
namespace {

constinit std::span<const Builtin> registeredBuiltins;

} // namespace

std::span<const Builtin> builtinPlugins() { return registeredBuiltins; }

void setBuiltinPlugins(std::span<const Builtin> plugins) { registeredBuiltins = plugins; }

} // namespace tessera
