// Stages 6 and 7 of Registry.h: loads a plugin's file into this process and queries it.
#pragma once
#include "core/plugin/Registry.h"

namespace tessera {

/// Loads the file and never unloads it, checks its exports, queries it and compares the answer with the
/// manifest. Returns null with `error` filled on failure.
std::unique_ptr<Plugin> loadPluginFile(const std::string &path, const Manifest &manifest, PluginError &error);

/// Queries a plugin that is in the process, without checking its tables. Returns false with `error` filled on
/// failure.
bool askPlugin(tsr_plugin_query_fn query, Plugin &out, PluginError &error);
/// Checks that each kind has a table of this runtime's version with the required slots.
PluginError checkTables(const tsr_plugin_info_t &info);
/// Runs askPlugin() and checkTables().
bool queryPlugin(tsr_plugin_query_fn query, Plugin &out, PluginError &error);

} // namespace tessera
