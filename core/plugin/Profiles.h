// The numerics profiles that can be named: those of the numerics plugins, the built-in one first.
#pragma once
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
/// the numerics plugins of the search path. TSR_ENOTFOUND with `why`, which lists what there is, and `hint`,
/// the name that may have been meant. Exported by libtessera.so for its tools. Thread-safe.
__attribute__((visibility("default"))) tsr_status_t chooseProfile(const std::string &asked, Profile &out,
                                                                  std::string &why, std::string &hint);

} // namespace tessera
