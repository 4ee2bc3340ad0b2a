#include "core/Backends.h"
#include "core/Environment.h"
#include <iterator>

namespace tessera {
namespace {

constexpr const char *kNotInstalled = "its runtime library is not installed";

constexpr BackendEntry kTable[] = {
    {"ptx", "NVIDIA GPUs", nullptr, kNotInstalled},
    {"rocm", "AMD GPUs", nullptr, kNotInstalled},
    {"levelzero", "Intel GPUs", nullptr, kNotInstalled},
    {"cpu", "the host's processor", [] { return &cpuBackend(); }, ""},
};

std::string availableNames() {
  std::string out;
  for (const BackendEntry &row : kTable)
    if (row.get) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

} // namespace

const BackendEntry *backendTable(size_t &count) {
  count = std::size(kTable);
  return kTable;
}

tsr_status_t selectBackend(const char *requested, Backend *&out, std::string &why) {
  std::string name = requested ? requested : environment("TESSERA_BACKEND");
  std::string asked = requested ? "backend '" + name + "'" : "TESSERA_BACKEND=" + name;
  if (name == "level_zero") name = "levelzero";
  if (!requested && name.empty()) {
    for (const BackendEntry &row : kTable)
      if (row.get) {
        out = row.get();
        return TSR_SUCCESS;
      }
  }
  for (const BackendEntry &row : kTable) {
    if (name != row.name) continue;
    if (!row.get) {
      why = asked + ": known, but " + row.reason + "; available: " + availableNames();
      return TSR_UNIMPLEMENTED;
    }
    out = row.get();
    return TSR_SUCCESS;
  }
  std::string_view names[std::size(kTable)];
  for (size_t i = 0; i < std::size(kTable); ++i)
    names[i] = kTable[i].name;
  why = asked + ": there is no such backend; available: " + availableNames();
  if (auto near = nearestName(name, std::begin(names), std::end(names)); !near.empty())
    why += "; did you mean " + std::string(near) + "?";
  return TSR_ENOTFOUND;
}

} // namespace tessera
