// Plugins whose probe crashed, so that it crashes once and not with every program.
//
// One file per plugin, kernel driver and plugin ABI in the cache directory's folder `quarantine`; a new build
// of the plugin or another driver is tried again. Without a cache directory nothing is kept.
#pragma once
#include "core/plugin/Manifest.h"
#include <string>

namespace tessera {

/// What a quarantine is for: a hash over the file's contents, the driver's version and the ABI. "" when the
/// file cannot be read.
std::string quarantineKey(const std::string &path, const std::string &driver);

/// Why it was quarantined, or "".
std::string quarantined(const std::string &key);
void quarantine(const std::string &key, const std::string &path, const std::string &why);
/// Forgets all of them; how many there were.
size_t resetQuarantine();

} // namespace tessera
