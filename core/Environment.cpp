#include "core/Environment.h"
#include "core/Log.h"
#include "core/cache/Store.h"
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <unistd.h>
#include <utility>

namespace tessera {
namespace {

// The runtime's own, then those of its command line (tools/) and of the build script (dev).
constexpr std::string_view kKnown[] = {
    "TESSERA_BACKEND",   "TESSERA_NUMERICS",  "TESSERA_PLUGIN_PATH", "TESSERA_BACKENDS_DISABLE",
    "TESSERA_PROBE",     "TESSERA_CACHE_DIR", "TESSERA_CACHE_SIZE",  "TESSERA_PLUGIN_LOG",
    "TESSERA_CRASH_DIR", "TESSERA_SUPERVISE", "TESSERA_JOBS",        "TESSERA_FUZZ_SECONDS",
    "TESSERA_MAPPER",
};
// Reserved names that nothing reads yet: whoever sets one is told so.
constexpr std::string_view kReserved[] = {"TESSERA_CONFIG"};

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
  const char *value = std::getenv(name);
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

std::vector<std::string> unknownVariableWarnings(const char *const *entries) {
  std::vector<std::string> out;
  for (; entries && *entries; ++entries) {
    std::string_view entry = *entries;
    std::string_view name = entry.substr(0, entry.find('='));
    if (name == "TESSERA_CACHE_SIZE" && entry.size() > name.size() + 1) {
      const std::string value(entry.substr(name.size() + 1));
      if (!cache::Store::parseLimit(value))
        out.push_back("TESSERA_CACHE_SIZE is '" + value +
                      "', which is no size (500000, 20K, 500M, 2G): 1G holds");
    }
    if (!name.starts_with("TESSERA_") ||
        std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown))
      continue;
    if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
      out.push_back("this version does not read " + std::string(name) + "; it has no effect");
      continue;
    }
    out.push_back("unknown environment variable " + std::string(name));
    if (auto near = nearestName(name, std::begin(kKnown), std::end(kKnown)); !near.empty())
      out.back() += ", did you mean " + std::string(near) + "?";
  }
  return out;
}

void warnAboutUnknownVariables() {
  if (!logs(TSR_LOG_WARNING)) return;
  for (const std::string &warning : unknownVariableWarnings(environ))
    logOnce(TSR_LOG_WARNING, "W_ENVIRONMENT", warning);
}

} // namespace tessera
