// Where plugins are looked for, and which files there may be trusted.
#pragma once
#include "core/plugin/PluginError.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// The directories, in order: TESSERA_PLUGIN_PATH (colon-separated), else those of the
/// configuration file, then `tessera` beside libtessera.so; each once, where it stands first, however it is
/// spelt. Entries that are not absolute are in `refused`, as "path" and why.
struct SearchPath {
  std::vector<std::string> directories;
  std::string own; // the one beside libtessera.so, in `directories` by this or another spelling; or ""
  std::vector<std::pair<std::string, PluginError>> refused;
};
SearchPath searchPath();

/// Files of a directory whose name is libtessera-*.so, sorted. An absent directory is empty.
PluginError listPlugins(const std::string &directory, std::vector<std::string> &files);

/// May code of this file be run? It is a regular file inside `directory`; it and every directory above are
/// owned by root or this user and writable by nobody else (a sticky directory above, as /tmp, is fine).
PluginError checkPermissions(const std::string &directory, const std::string &path);

/// What a file's name says: a backend "toy" of ".../libtessera-toy.so", a collective "openmpi" of
/// "libtessera-collective-openmpi.so".
struct FileName {
  std::string name;  // "": no plugin's
  uint32_t kind = 0; // a TSR_PLUGIN_* bit
};
FileName nameOfFile(const std::string &path);
/// The file name of plugin `name` that serves `kind` (a TSR_PLUGIN_* bit): "libtessera-toy.so".
std::string fileNameOf(uint32_t kind, const std::string &name);

} // namespace tessera
