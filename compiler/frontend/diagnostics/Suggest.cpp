#include "compiler/frontend/diagnostics/Suggest.h"
#include "core/support/NearestName.h"

namespace tessera::frontend {

std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates,
                       std::string otherwise) {
  std::string found(nearestName(name, candidates));
  return found.empty() ? otherwise : "did you mean '" + found + "'?";
}

} // namespace tessera::frontend
