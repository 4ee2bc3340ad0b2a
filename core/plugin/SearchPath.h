// Where plugins are searched for, and which files there may be trusted.
#pragma once
#include "core/plugin/PluginError.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// The plugin directories, in order: those of TESSERA_PLUGIN_PATH (colon-separated) or of the configuration
/// file, then `tessera` beside libtessera.so. Each directory is listed once, at its first position, however
/// it is spelt. Entries that are not absolute are in `refused`, each with the reason.
struct SearchPath {
  std::vector<std::string> directories;
  std::string own; // the one beside libtessera.so, in `directories` by this or another spelling; or ""
  std::vector<std::pair<std::string, PluginError>> refused;
};
SearchPath searchPath();

/// Lists the files of a directory named libtessera-*.so, sorted. A directory that does not exist counts as
/// empty.
PluginError listPlugins(const std::string &directory, std::vector<std::string> &files);

/// Checks whether code of this file may be run. It must be a regular file inside `directory`. It and every
/// directory above must be owned by root or this user, and writable by nobody else (a sticky directory above,
/// such as /tmp, is accepted).
PluginError checkPermissions(const std::string &directory, const std::string &path);

/// The name and kind in a file's name: backend "toy" for ".../libtessera-toy.so", collective "openmpi" for
/// "libtessera-collective-openmpi.so".
struct FileName {
  std::string name;  // "" if it is not a plugin's file name
  uint32_t kind = 0; // a TSR_PLUGIN_* bit
};
FileName nameOfFile(const std::string &path);
/// Returns the file name of plugin `name` that serves `kind` (a TSR_PLUGIN_* bit): "libtessera-toy.so".
std::string fileNameOf(uint32_t kind, const std::string &name);

} // namespace tessera
