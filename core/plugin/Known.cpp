#include "core/plugin/Known.h"
#include <algorithm>

namespace tessera {
namespace {

constexpr KnownBackend kTable[] = {
    {"cpu", "the host's processor", "libtessera1", ""},
    {"ptx", "NVIDIA GPUs", "tessera-backend-ptx", "10de"},
    {"rocm", "AMD GPUs", "tessera-backend-rocm", "1002"},
    {"levelzero", "Intel GPUs", "tessera-backend-levelzero", "8086"},
};

} // namespace

std::span<const KnownBackend> knownBackends() { return kTable; }

const KnownBackend *knownBackend(std::string_view name) {
  for (const KnownBackend &row : kTable)
    if (name == row.name) return &row;
  return nullptr;
}

std::string canonicalBackend(std::string_view name) {
  return std::string(name == "level_zero" ? "levelzero" : name);
}

bool isPluginName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::vector<std::string> installHints(const std::vector<std::string> &present,
                                      const std::vector<std::string> &pciVendors) {
  std::vector<std::string> out;
  for (const KnownBackend &row : kTable) {
    if (!*row.pciVendor) continue;
    const bool isThere = std::find(pciVendors.begin(), pciVendors.end(), row.pciVendor) != pciVendors.end();
    const bool isServed = std::find(present.begin(), present.end(), row.name) != present.end();
    if (isThere && !isServed)
      out.push_back("this machine has " + std::string(row.devices) + " (PCI vendor " + row.pciVendor +
                    ") and no plugin for them: install " + row.package);
  }
  return out;
}

} // namespace tessera
