#include "compiler/frontend/Suggest.h"
#include <algorithm>

namespace tessera::frontend {

unsigned editDistance(std::string_view a, std::string_view b, unsigned limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = static_cast<unsigned>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<unsigned>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string nearest(std::string_view name, const std::vector<std::string> &candidates) {
  if (name.empty() || name.size() > 64) return {};
  unsigned best = static_cast<unsigned>(name.size() + 2) / 3 + 1;
  std::string found;
  for (const std::string &c : candidates) {
    unsigned d = editDistance(name, c, best);
    if (d >= best || d >= std::max(name.size(), c.size())) continue;
    best = d;
    found = c;
  }
  return found;
}

std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates,
                       std::string otherwise) {
  std::string found = nearest(name, candidates);
  return found.empty() ? otherwise : "did you mean '" + found + "'?";
}

} // namespace tessera::frontend
