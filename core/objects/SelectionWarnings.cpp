#include "core/objects/SelectionWarnings.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/log/Log.h"
#include "core/plugin/KnownBackends.h"
#include "core/plugin/Registry.h"
#include "core/support/NearestName.h"
#include <algorithm>

namespace tessera {
namespace {

bool isEmulated(std::string_view backend) { return backend.find(":emulated") != backend.npos; }

/// Known backends are backends even where they are not installed: scripts for many machines disable them.
std::vector<std::string> backendNames() {
  std::vector<std::string> out;
  for (const KnownBackend &known : knownBackends())
    out.emplace_back(known.name);
  for (const Candidate &c : surveyPlugins(TSR_PLUGIN_BACKEND, /*probe=*/false))
    if (!c.name.empty() && std::ranges::find(out, c.name) == out.end()) out.push_back(c.name);
  return out;
}

void warnAboutDisabled() {
  const std::string from = setting("TESSERA_BACKENDS_DISABLE").from;
  for (const std::string &listed : disabledBackends()) {
    if (knownBackend(canonicalBackend(listed))) continue;
    const std::vector<std::string> names = backendNames();
    if (std::ranges::find(names, listed) != names.end()) continue;
    const std::string_view near = nearestName(listed, names);
    logOnce(
        TSR_LOG_WARNING, "W_ENVIRONMENT",
        from + " names '" + listed + "', which is no backend" +
            (near.empty() ? "; there are " + nameList(names) : ", did you mean " + std::string(near) + "?"));
  }
}

} // namespace

void warnAboutUnusedSettings(std::string_view backend) {
  if (!logs(TSR_LOG_WARNING)) return;
  warnAboutDisabled();
  const std::string arch = environment("TESSERA_ARCH");
  if (!arch.empty() && !isEmulated(backend) && !isEmulated(setting("TESSERA_BACKEND").value))
    logOnce(TSR_LOG_WARNING, "W_ENVIRONMENT",
            "TESSERA_ARCH is '" + arch + "', but backend " + std::string(backend) +
                " is not emulated: its devices are used as they are");
}

} // namespace tessera
