// The numerics profiles that can be selected by name: the built-in ones and those of the numerics plugins.
#pragma once
#include "core/support/Expected.h"
#include "numerics/NumericsProfile.h"
#include <string>
#include <tessera/status.h>
#include <vector>

namespace tessera {

struct Profile {
  std::string name, plugin; // plugin: the one that defines it
  NumericsPermissions permits;
};

/// Returns the profile `asked`, else the one that TESSERA_NUMERICS names, else "standard" (D20). Unless the
/// profile is built in, loads the numerics plugins of the search path. Errors: E_CONFIG, or
/// E_NUMERICS_UNKNOWN, which lists the available profiles and suggests a similar name. Exported by
/// libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) Expected<Profile> chooseProfile(const std::string &asked);

} // namespace tessera
