// Plugins that the program registered with tsrRegisterPlugin. They have no file, no note and no probe
// process. They take precedence over the plugin directories, and all checks that do not need a file apply to
// them.
#pragma once
#include "core/plugin/Registry.h"

namespace tessera {

/// Queries the plugin and registers it. On failure fills `why` and returns TSR_EINVAL, or TSR_UNIMPLEMENTED
/// if the plugin needs another contract version.
tsr_status_t registerPlugin(tsr_plugin_query_fn query, std::string &why);

/// Removes the plugin, so that it is no longer found. Its name stays reserved until shutDownRetired. Returns
/// TSR_ENOTFOUND if it is not registered. Returns TSR_EINVAL, without any effect, if more than `others`
/// PluginRefs to it exist outside the registry.
tsr_status_t retirePlugin(const std::string &name, long others, std::shared_ptr<Plugin> &out,
                          std::string &why);
/// Calls the shutdown of a retired plugin, whose backend must have been destroyed.
void shutDownRetired(const std::shared_ptr<Plugin> &plugin);

/// Returns the registered plugin of that name, or null if there is none.
PluginRef registeredPlugin(std::string_view name);
/// Returns all registered plugins in the order of registration.
std::vector<PluginRef> registeredPlugins();

/// Returns what a note would contain, as far as the query's answer provides it.
Manifest manifestOf(const tsr_plugin_info_t &info);

} // namespace tessera
