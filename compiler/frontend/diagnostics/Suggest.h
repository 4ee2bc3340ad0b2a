// "did you mean": the hint of a diagnostic that names the nearest of the known names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

/// Returns `did you mean 'row_max'?`, or `otherwise` if no name is near.
std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates,
                       std::string otherwise = {});

} // namespace tessera::frontend
