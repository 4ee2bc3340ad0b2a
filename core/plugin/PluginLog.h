// TESSERA_PLUGIN_LOG: writes one line per decision about a plugin, to stderr ("1" or "stderr") or appended to
// the file it names.
#pragma once
#include <string>

namespace tessera {

/// Writes the line, and logs it as a debug message with code D_PLUGIN.
void pluginLog(const std::string &path, const std::string &text);

} // namespace tessera
