// The numerics profiles that can be named: those of the numerics plugins, the built-in one first.
#pragma once
#include "core/support/Expected.h"
#include "numerics/NumericsProfile.h"
#include <string>
#include <tessera/status.h>
#include <vector>

namespace tessera {

struct Profile {
  std::string name, plugin; // plugin: who offers it
  NumericsPermissions permits;
};

/// The profile `asked`, else what TESSERA_NUMERICS names, else "standard" (D20). Unless it is built in, loads
/// the numerics plugins of the search path. Errors: E_CONFIG, or E_NUMERICS_UNKNOWN, which lists what there
/// is and hints at the name that may have been meant. Exported by libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) Expected<Profile> chooseProfile(const std::string &asked);

} // namespace tessera
