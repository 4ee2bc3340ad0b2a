// Where plugins are looked for, and which files there may be trusted.
#pragma once
#include "core/plugin/PluginError.h"
#include <string>
#include <vector>

namespace tessera {

/// The directories, in order: TESSERA_PLUGIN_PATH (colon-separated; not under AT_SECURE), then `tessera`
/// beside libtessera.so. Entries that are not absolute are in `refused`, as "path" and why.
struct SearchPath {
  std::vector<std::string> directories;
  std::vector<std::pair<std::string, PluginError>> refused;
};
SearchPath searchPath();

/// Files of a directory whose name is libtessera-*.so, sorted. An absent directory is empty.
PluginError listPlugins(const std::string &directory, std::vector<std::string> &files);

/// May code of this file be run? It is a regular file inside `directory`; it and every directory above are
/// owned by root or this user and writable by nobody else (a sticky directory above, as /tmp, is fine).
PluginError checkPermissions(const std::string &directory, const std::string &path);

/// "rocm" and its kind of ".../libtessera-rocm.so", "openmpi" of "libtessera-collective-openmpi.so".
std::string nameOfFile(const std::string &path);
/// The file name of plugin `name` that serves `kind` (a TSR_PLUGIN_* bit): "libtessera-rocm.so".
std::string fileNameOf(uint32_t kind, const std::string &name);

} // namespace tessera
