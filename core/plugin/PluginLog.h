// TESSERA_PLUGIN_LOG: a line for each decision about a plugin, on stderr ("1" or "stderr") or appended to the
// file it names.
#pragma once
#include <string>

namespace tessera {

/// Also a debug message of the log, code D_PLUGIN.
void pluginLog(const std::string &path, const std::string &text);

} // namespace tessera
