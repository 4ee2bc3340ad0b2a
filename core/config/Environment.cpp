#include "core/config/Environment.h"
#include "core/config/Config.h"
#include "core/support/NearestName.h"
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace tessera {
namespace {

// Variables of the runtime, of its command line (tools/), of the build script (dev) and of python/.
constexpr std::string_view kKnown[] = {
    "TESSERA_BACKEND",          "TESSERA_ARCH",      "TESSERA_NUMERICS",         "TESSERA_PLUGIN_PATH",
    "TESSERA_BACKENDS_DISABLE", "TESSERA_PROBE",     "TESSERA_CACHE_DIR",        "TESSERA_CACHE_SIZE",
    "TESSERA_PLUGIN_LOG",       "TESSERA_CRASH_DIR", "TESSERA_SUPERVISE",        "TESSERA_JOBS",
    "TESSERA_FUZZ_SECONDS",     "TESSERA_MAPPER",    "TESSERA_CONFIG",           "TESSERA_CPU_INLINE",
    "TESSERA_CPU_PIN",          "TESSERA_DEBUG",     "TESSERA_PYTHON_TRACEBACK", "TESSERA_TUNED",
};
/// Variables with a few values. Any other one counts as the first, which is the default.
struct Choice {
  std::string_view variable;
  const char *expected;
  std::array<std::string_view, 3> values;
};
constexpr Choice kChoices[] = {{"TESSERA_CPU_INLINE", "on or off", {"on", "off"}},
                               {"TESSERA_CPU_PIN", "on or off", {"off", "on"}},
                               {"TESSERA_DEBUG", "on or off", {"off", "on"}},
                               {"TESSERA_PROBE", "spawn, inproc or note", {"spawn", "inproc", "note"}},
                               {"TESSERA_SUPERVISE", "0 or 1", {"1", "0"}}};

} // namespace

std::vector<std::string> unknownVariableWarnings(const char *const *entries) {
  std::vector<std::string> out;
  for (; entries && *entries; ++entries) {
    std::string_view entry = *entries;
    std::string_view name = entry.substr(0, entry.find('='));
    if (name == "TESSERA_CACHE_SIZE" && entry.size() > name.size() + 1) {
      const std::string value(entry.substr(name.size() + 1));
      if (!parseBytes(value))
        out.push_back("TESSERA_CACHE_SIZE is '" + value +
                      "', which is not a size (500000, 20K, 500M, 2G): using 1G");
    }
    const std::string_view value = entry.substr(std::min(entry.size(), name.size() + 1));
    for (const Choice &c : kChoices)
      if (name == c.variable && !value.empty() && std::ranges::find(c.values, value) == c.values.end())
        out.push_back(std::string(name) + " is '" + std::string(value) + "'; expected " + c.expected +
                      ": using " + std::string(c.values[0]));
    if (!name.starts_with("TESSERA_") ||
        std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown))
      continue;
    out.push_back("unknown environment variable " + std::string(name));
    if (auto near = nearestName(name, kKnown); !near.empty())
      out.back() += ", did you mean " + std::string(near) + "?";
  }
  return out;
}

} // namespace tessera
