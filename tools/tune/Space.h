// The configurations that a kernel declares: every combination of its tunables' values.
#pragma once
#include "core/service/CompilerService.h"
#include "core/support/Expected.h"
#include "core/tuning/TunedKey.h"
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tune {

struct Configuration {
  NamedValues values;      // of all tunables, in the order of their declaration
  double predictedNs = -1; // estimate before anything is measured; -1: there is none
};

inline constexpr size_t kMostConfigurations = 4096;

/// Returns the combinations, the kernel's default first. E_TUNE_EMPTY: the kernel has no tunables.
/// E_TUNE_SPACE: there are more than kMostConfigurations.
Expected<std::vector<Configuration>> configurationsOf(const Signature &);

/// "BLOCK_M=96 BLOCK_N=256"
std::string textOf(const NamedValues &);
/// The values of such a text; empty if it is malformed.
NamedValues valuesOf(std::string_view text);

} // namespace tessera::tune
