// Inspects a loaded plugin and compares it with its manifest. Shared by the loader and the conformance kit.
#pragma once
#include "core/plugin/Manifest.h"
#include <string>
#include <tessera/plugin.h>
#include <vector>

struct link_map;

namespace tessera {

/// Returns the defined symbols that the object exports, from its loaded dynamic section. Names that begin
/// with _ belong to the tool chain and are left out.
std::vector<std::string> exportedSymbols(const link_map *);

/// Returns an error that names the first field in which the note and the query's answer differ, or none.
PluginError compareWithNote(const Manifest &, const tsr_plugin_info_t &);

} // namespace tessera
