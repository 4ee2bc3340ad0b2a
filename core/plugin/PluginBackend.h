// A backend behind the table of plugin.h, as the C++ interface the core works with. Every backend comes this
// way, the CPU's too.
#pragma once
#include "core/plugin/Registry.h"
#include <memory>
#include <tessera/backend.hpp>

namespace tessera {

/// The slots whose absence no caller can work around, by name; "" when all of them are there.
std::string missingSlots(const tsr_backend_api_t &api);

/// Creates the backend of `plugin`, which serves TSR_PLUGIN_BACKEND. Null with `why` filled on failure.
/// Destroying it calls the plugin's destroy.
std::unique_ptr<Backend> makePluginBackend(PluginRef plugin, std::string &why);

} // namespace tessera
