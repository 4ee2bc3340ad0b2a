// "did you mean": the nearest of the names that are known at some place, as the hint of a diagnostic.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

/// `did you mean 'row_max'?`, or `otherwise` when nothing is near.
std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates,
                       std::string otherwise = {});

} // namespace tessera::frontend
