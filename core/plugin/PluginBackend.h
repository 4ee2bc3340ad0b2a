// Adapts a backend's table of plugin.h to the C++ interface that the core uses. Every backend is reached this
// way, including the CPU's.
#pragma once
#include "core/plugin/Registry.h"
#include <memory>
#include <tessera/backend.hpp>

namespace tessera {

/// Returns the names of the required slots that are null, comma-separated; "" if none is. Required slots are
/// those that no caller can do without.
std::string missingSlots(const tsr_backend_api_t &api);

/// Creates the backend of `plugin`, which must serve TSR_PLUGIN_BACKEND, for the devices of `variant` ("" or
/// tsr_host_info_t::variant). Returns null with `why` filled on failure. Destroying the backend calls the
/// plugin's destroy.
std::unique_ptr<Backend> makePluginBackend(PluginRef plugin, std::string variant, std::string &why);

} // namespace tessera
