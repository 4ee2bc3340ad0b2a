#include "core/config/Names.h"
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// Edits between two words: a letter more, less or another, or two neighbours swapped.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1); // of a's prefixes two shorter, one shorter, this one
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

} // namespace

std::string environment(const char *name) {
  const char *value = secure_getenv(name);
  return value ? value : "";
}

std::string_view nearestName(std::string_view word, const std::string_view *begin,
                             const std::string_view *end) {
  std::string_view best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view *name = begin; name != end; ++name)
    if (size_t d = distance(word, *name); d < bestDistance) bestDistance = d, best = *name;
  return best;
}

} // namespace tessera
