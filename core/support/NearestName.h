// Finds the known name nearest to an unknown one, for "did you mean" hints in messages.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// Returns the number of edits between two words. An edit inserts, deletes or replaces a letter (also by its
/// other case), or swaps two neighbours.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1); // for a's prefixes: two shorter, one shorter, current
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Returns the name nearest to `word` if a typing error may explain the difference, else "". It allows one
/// edit per four letters, and one in a word of three. The result lives as long as `names`, a range of
/// strings.
template <class Names> std::string_view nearestName(std::string_view word, const Names &names) {
  std::string_view best;
  if (word.size() < 3 || word.size() > 64) return best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 4) + 1;
  for (std::string_view name : names)
    if (size_t d = editDistance(word, name); d < bestDistance) bestDistance = d, best = name;
  return best;
}

} // namespace tessera
