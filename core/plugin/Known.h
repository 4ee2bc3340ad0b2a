// The backends Tessera ships, whether they are installed or not: what package has them, what they drive.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct KnownBackend {
  const char *name, *devices, *package;
  const char *pciVendor; // "10de"; "" for the CPU
};

std::span<const KnownBackend> knownBackends();
const KnownBackend *knownBackend(std::string_view name);

/// "level_zero" is "levelzero" (decision D1).
std::string canonicalBackend(std::string_view name);
/// May it be part of a file's name?
bool isPluginName(std::string_view name);

/// A sentence for each GPU in the machine whose backend is not among `present`: which package drives it.
std::vector<std::string> installHints(const std::vector<std::string> &present,
                                      const std::vector<std::string> &pciVendors);

} // namespace tessera
