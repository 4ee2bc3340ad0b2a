// Plugins whose probe crashed. A quarantined plugin is not probed again by every program.
//
// The cache directory's folder `quarantine` holds one file per plugin, kernel driver and plugin ABI. A new
// build of the plugin or another driver version is probed again. Without a cache directory nothing is stored.
#pragma once
#include "core/plugin/Manifest.h"
#include <string>

namespace tessera {

/// Returns a hash over the file's contents, the driver's version and the plugin ABI; "" if the file cannot be
/// read.
std::string quarantineKey(const std::string &path, const std::string &driver);

/// Returns why the plugin was quarantined, or "".
std::string quarantined(const std::string &key);
void quarantine(const std::string &key, const std::string &path, const std::string &why);
/// Removes all entries and returns their number.
size_t resetQuarantine();

} // namespace tessera
