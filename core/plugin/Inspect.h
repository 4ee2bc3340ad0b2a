// What a loaded plugin says of itself, held against its manifest. Shared by the loader and the conformance
// kit.
#pragma once
#include "core/plugin/Manifest.h"
#include <string>
#include <tessera/plugin.h>
#include <vector>

struct link_map;

namespace tessera {

/// Defined symbols the object exports, by its loaded dynamic section; names that begin with _ are the tool
/// chain's.
std::vector<std::string> exportedSymbols(const link_map *);

/// The first field in which the note and the query's answer differ.
PluginError compareWithNote(const Manifest &, const tsr_plugin_info_t &);

} // namespace tessera
