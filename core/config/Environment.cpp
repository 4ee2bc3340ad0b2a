#include "core/config/Environment.h"
#include "core/config/Config.h"
#include "core/support/NearestName.h"
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <unistd.h>
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

void warnAboutPluginPath(std::string_view list, std::vector<std::string> &out) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    const std::string entry(list.substr(at, end - at));
    at = end + 1;
    if (entry.empty()) continue;
    std::error_code error;
    if (entry[0] != '/')
      out.push_back("TESSERA_PLUGIN_PATH: '" + entry + "' is left out, because it is not an absolute path");
    else if (!std::filesystem::is_directory(entry, error))
      out.push_back("TESSERA_PLUGIN_PATH: there is no directory '" + entry + "'");
  }
}

void warnAboutPluginLog(const std::string &log, std::vector<std::string> &out) {
  if (log.empty() || log == "0" || log == "1" || log == "stderr") return;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(log).parent_path();
  const std::string written = std::filesystem::exists(log, error) ? log
                              : folder.empty()                    ? "."
                                                                  : folder.string();
  if (::access(written.c_str(), W_OK) != 0 || std::filesystem::is_directory(log, error))
    out.push_back("TESSERA_PLUGIN_LOG: '" + log + "' cannot be written, so there is no log");
}

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
    if (name == "TESSERA_PLUGIN_PATH") warnAboutPluginPath(value, out);
    if (name == "TESSERA_PLUGIN_LOG") warnAboutPluginLog(std::string(value), out);
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
