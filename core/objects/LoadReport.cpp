// The load report (docs/plugins.md lists its keys).
#include "core/objects/Backends.h"
#include "core/plugin/KnownBackends.h"
#include "core/plugin/Match.h"
#include "core/plugin/SearchPath.h"
#include "core/service/BuildId.h"
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::string codeText(int code) {
  char out[16];
  snprintf(out, sizeof out, "TSRP-%03d", code);
  return out;
}

Json rowOf(const Candidate &c, const std::string &selected) {
  Json row = {{"name", c.name}, {"path", c.path.empty() ? Json(nullptr) : Json(c.path)}};
  if (c.manifest) {
    row["kinds"] = kindList(c.kinds());
    row["version"] = c.manifest->version;
    row["description"] = c.manifest->description;
    row["abi"] = std::to_string(c.manifest->abiMajor) + "." + std::to_string(c.manifest->builtMinor);
    row["priority"] = c.manifest->priority;
  }
  row["state"] = c.error                                        ? "refused"
                 : c.origin == Origin::Program                  ? "registered"
                 : c.origin == Origin::Library                  ? "built in"
                 : c.isLoaded                                   ? "loaded"
                 : c.found || !(c.kinds() & TSR_PLUGIN_BACKEND) ? "usable"
                                                                : "not probed";
  row["selected"] = !c.error && !selected.empty() && c.name == selected && (c.kinds() & TSR_PLUGIN_BACKEND);
  if (c.error) {
    row["code"] = codeText(c.error.code);
    row["reason"] = c.error.text;
    if (!c.error.fix.empty()) row["fix"] = c.error.fix;
  }
  if (c.found) {
    row["devices"] = c.found->device_count;
    row["score"] = c.found->score;
    if (*c.found->driver) row["driver"] = std::string(c.found->driver);
    Json pci = Json::array();
    for (auto &address : c.found->pci)
      if (*address) pci.push_back(std::string(address));
    if (!pci.empty()) row["pci"] = pci;
  }
  if (c.noteMicroseconds > 0) row["note_us"] = c.noteMicroseconds;
  if (c.probeMilliseconds > 0) row["probe_ms"] = c.probeMilliseconds;
  return row;
}

/// The row of a variant, which needs no hardware and is used only by its name.
Json variantRowOf(const Candidate &c, const std::string &variant, const std::string &selected) {
  Candidate copy = c;
  copy.name = c.name + ":" + variant;
  copy.found.reset();
  copy.probeMilliseconds = 0;
  const bool isUsable = !c.error || c.error.code == refusal::kHardware ||
                        c.error.code == refusal::kDeviceNode || c.error.code == refusal::kDriver ||
                        (c.error.code > 200 && c.error.code < 300);
  if (isUsable) copy.error = {};
  Json row = rowOf(copy, selected);
  row["description"] = c.manifest->description + ", " + variant;
  if (isUsable) row["state"] = "by name";
  return row;
}

/// The result of a probe made for this report only: it neither chooses nor refuses a backend.
Json probeOf(const Candidate &c) {
  ProbeResult now;
  if (!probeAnyway(c, now)) return Json(nullptr);
  Json out = {{"ms", now.milliseconds}};
  if (now.error) {
    out["code"] = codeText(now.error.code);
    out["reason"] = now.error.text;
  } else {
    out["devices"] = now.found.device_count;
    out["score"] = now.found.score;
  }
  return out;
}

} // namespace

std::string loadReport(bool probe, bool all) {
  Selection selected;
  std::string why;
  tsr_status_t status = TSR_SUCCESS;
  if (probe) status = selectBackend(nullptr, selected, why); // probes and loads the candidates
  const std::string name = selected.backend ? selected.backend->name() : "";
  Json out;
  out["version"] = TESSERA_VERSION;
  out["plugin_abi"] = std::to_string(TSR_PLUGIN_ABI_MAJOR) + "." + std::to_string(TSR_PLUGIN_ABI_MINOR);
  out["directories"] = searchPath().directories;
  out["selected"] = name.empty() ? Json(nullptr) : Json(name);
  out["selected_by"] = name.empty() ? Json(nullptr) : Json(selected.reason);
  if (status != TSR_SUCCESS) out["selection_error"] = why;
  std::vector<std::string> present;
  out["plugins"] = Json::array();
  for (const Candidate &c : surveyPlugins(~0u, probe)) {
    out["plugins"].push_back(rowOf(c, name));
    if (all)
      if (Json now = probeOf(c); !now.is_null()) out["plugins"].back()["probe"] = std::move(now);
    if (c.manifest && !c.path.empty())
      for (const std::string &variant : c.manifest->variants)
        out["plugins"].push_back(variantRowOf(c, variant, name));
    present.push_back(c.name);
  }
  out["hints"] = installHints(present, gpuVendors());
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace tessera
