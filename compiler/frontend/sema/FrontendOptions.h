// Which instance of which kernel a source is elaborated to.
#pragma once
#include "core/service/CompilerService.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::frontend {

/// Selects one instance of one kernel.
struct FrontendOptions {
  std::string fileName = "<source>";
  std::string kernel;                                // empty: the only one of the source
  std::vector<std::pair<std::string, int64_t>> dims; // known values of symbolic dims (used only where needed)
  std::vector<std::pair<std::string, int64_t>> tunables; // chosen values; the others have their first value
  Supplied supplied;                                     // types and constants of the caller
  int64_t sharedLimit = int64_t(1) << 20;                // bytes of shared memory one program may allocate
  bool sharesTiles = false; // do the target's threads share the tiles of a program?
};

} // namespace tessera::frontend
