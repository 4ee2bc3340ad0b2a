// Plugins the program itself brought, with tsrRegisterPlugin: no file, no note, no probe process. They stand
// before the files of the plugin directories and go through the checks that are left.
#pragma once
#include "core/plugin/Registry.h"

namespace tessera {

/// Queries the plugin and takes it in. TSR_EINVAL, TSR_UNIMPLEMENTED (another contract) with `why` filled.
tsr_status_t registerPlugin(tsr_plugin_query_fn query, std::string &why);

/// Takes it out: nobody finds it any more, and its name stays taken until shutDownRetired. TSR_ENOTFOUND;
/// TSR_EINVAL while somebody has a PluginRef beside `others`, and nothing has happened.
tsr_status_t retirePlugin(const std::string &name, long others, std::shared_ptr<Plugin> &out,
                          std::string &why);
/// Calls the shutdown of a retired one, whose backend is gone.
void shutDownRetired(const std::shared_ptr<Plugin> &plugin);

/// Null: none of that name is registered.
PluginRef registeredPlugin(std::string_view name);
/// In the order they were registered.
std::vector<PluginRef> registeredPlugins();

/// What a note would say, as far as the query's answer tells.
Manifest manifestOf(const tsr_plugin_info_t &info);

} // namespace tessera
