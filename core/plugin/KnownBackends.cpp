#include "core/plugin/KnownBackends.h"
#include <algorithm>

namespace tessera {
namespace {

bool has(const auto &list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

} // namespace

const std::vector<KnownBackend> &knownBackends() {
  static const auto &table = *new std::vector<KnownBackend>{
#define TESSERA_KNOWN_BACKEND(...) {__VA_ARGS__},
#define TESSERA_OWN_NAME(NAME)
#include "core/plugin/KnownBackends.inc"
#undef TESSERA_KNOWN_BACKEND
#undef TESSERA_OWN_NAME
  };
  return table;
}
[[maybe_unused]] static const auto &madeTable =
    knownBackends(); // when the library is loaded: see HeldAcrossFork

const KnownBackend *knownBackend(std::string_view name) {
  for (const KnownBackend &row : knownBackends())
    if (name == row.name) return &row;
  return nullptr;
}

const KnownBackend *backendOfFormat(std::string_view imageFormat) {
  for (const KnownBackend &row : knownBackends())
    if (has(row.imageFormats, imageFormat)) return &row;
  return nullptr;
}

std::string canonicalBackend(std::string_view name) {
  for (const KnownBackend &row : knownBackends())
    if (has(row.aliases, name)) return std::string(row.name);
  return std::string(name);
}

bool isOwnName(std::string_view name) {
  static constexpr std::string_view kNames[] = {
#define TESSERA_KNOWN_BACKEND(...)
#define TESSERA_OWN_NAME(NAME) NAME,
#include "core/plugin/KnownBackends.inc"
#undef TESSERA_KNOWN_BACKEND
#undef TESSERA_OWN_NAME
  };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::vector<std::string> installHints(const std::vector<std::string> &present,
                                      const std::vector<std::string> &pciVendors) {
  std::vector<std::string> out;
  for (const KnownBackend &row : knownBackends()) {
    auto isThere = [&](std::string_view vendor) { return has(pciVendors, vendor); };
    auto vendor = std::find_if(row.pciVendors.begin(), row.pciVendors.end(), isThere);
    if (vendor == row.pciVendors.end() || has(present, row.name)) continue;
    out.push_back("this machine has " + std::string(row.devices) + " (PCI vendor " + std::string(*vendor) +
                  ") and no plugin for them: install " + std::string(row.package));
  }
  return out;
}

} // namespace tessera
