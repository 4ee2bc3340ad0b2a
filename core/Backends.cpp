#include "core/Backends.h"
#include "core/Environment.h"
#include <cctype>
#include <iterator>

namespace tessera {
namespace {

constexpr const char *kReserved = "not part of this release";

constexpr BackendEntry kTable[] = {
    {"cpu", "the host's processor", [] { return &cpuBackend(); }, ""},
    {"ptx", "NVIDIA GPUs", nullptr, kReserved},
    {"rocm", "AMD GPUs", nullptr, kReserved},
    {"levelzero", "Intel GPUs", nullptr, kReserved},
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
      why = asked + ": " + row.reason + "; available: " + availableNames();
      return TSR_UNIMPLEMENTED;
    }
    out = row.get();
    return TSR_SUCCESS;
  }
  std::string_view names[std::size(kTable)];
  for (size_t i = 0; i < std::size(kTable); ++i)
    names[i] = kTable[i].name;
  why = asked + ": there is no such backend; available: " + availableNames();
  for (char &c : name)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (auto near = nearestName(name, std::begin(names), std::end(names)); !near.empty())
    why += "; did you mean " + std::string(near) + "?";
  return TSR_ENOTFOUND;
}

} // namespace tessera
