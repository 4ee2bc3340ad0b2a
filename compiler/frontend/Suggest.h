// "did you mean": the nearest of the names that are known at some place.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

/// Damerau-Levenshtein distance (adjacent swaps count one), case changes count one; stops at `limit`.
unsigned editDistance(std::string_view a, std::string_view b, unsigned limit);

/// The candidate nearest to `name`, or "" when none is near (more than a third of its letters differ).
std::string nearest(std::string_view name, const std::vector<std::string> &candidates);

/// `did you mean 'row_max'?`, or `otherwise` when nothing is near.
std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates,
                       std::string otherwise = {});

} // namespace tessera::frontend
