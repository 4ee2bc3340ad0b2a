// Stages 6 and 7: a plugin's file becomes code of this process.
#pragma once
#include "core/plugin/Registry.h"

namespace tessera {

/// Loads the file, never to unload it again, checks its exports, queries it and holds the answer against the
/// manifest. Null with `error` filled.
std::unique_ptr<Plugin> loadPluginFile(const std::string &path, const Manifest &manifest, PluginError &error);

/// Queries a plugin that is in the process, and no more: its tables are not looked at. `error` as above.
bool askPlugin(tsr_plugin_query_fn query, Plugin &out, PluginError &error);
/// Is there a table of this runtime's version, with the required slots, for each kind?
PluginError checkTables(const tsr_plugin_info_t &info);
/// Both.
bool queryPlugin(tsr_plugin_query_fn query, Plugin &out, PluginError &error);

} // namespace tessera
