// "did you mean": the hint of a diagnostic that names the nearest of the known names.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::frontend {

/// Returns `did you mean 'row_max'?`, or `otherwise` if no name is near.
std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates,
                       std::string otherwise = {});

/// The same of a table of names.
inline std::string didYouMean(std::string_view name, std::span<const std::string_view> candidates,
                              std::string otherwise = {}) {
  return didYouMean(name, std::vector<std::string>(candidates.begin(), candidates.end()),
                    std::move(otherwise));
}

} // namespace tessera::frontend
