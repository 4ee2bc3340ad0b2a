// Which tensors a kernel reads and writes, from the syntax alone: signatures need it before any dim has a
// value.
#pragma once
#include "compiler/frontend/ModuleData.h"
#include <set>
#include <string>
#include <vector>

namespace tessera::frontend {

struct EffectSummary {
  std::set<std::string> reads, writes;     // names of parameters
  std::vector<std::string> returnedParams; // by returned value; "" for one that is no parameter
};

/// Follows tensors into helpers and through plain aliases (`X = A`). May report an effect that no path has,
/// never misses one.
EffectSummary summarizeEffects(const ModuleData &, const FunctionDecl &);

} // namespace tessera::frontend
