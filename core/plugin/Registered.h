// Plugins the program itself brought, with tsrRegisterPlugin: no file, no note, no probe process. They stand
// before the files of the plugin directories and go through the checks that are left.
#pragma once
#include "core/plugin/Registry.h"

namespace tessera {

/// Queries the plugin and takes it in. TSR_EINVAL, TSR_UNIMPLEMENTED (another contract) with `why` filled.
tsr_status_t registerPlugin(tsr_plugin_query_fn query, std::string &why);

/// Calls its shutdown and forgets it. TSR_ENOTFOUND; TSR_EINVAL while somebody has a PluginRef beside
/// `others`.
tsr_status_t unregisterPlugin(const std::string &name, long others, std::string &why);

/// Null: none of that name is registered.
PluginRef registeredPlugin(std::string_view name);
/// In the order they were registered.
std::vector<PluginRef> registeredPlugins();

/// What a note would say, as far as the query's answer tells.
Manifest manifestOf(const tsr_plugin_info_t &info);

} // namespace tessera
