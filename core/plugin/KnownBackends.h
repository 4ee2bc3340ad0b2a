// The backends that come with Tessera, whether installed or not. The rows are generated from
// plugins/*/plugin.json (cmake/TesseraKnownBackends.cmake).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct KnownBackend {
  std::string_view name, devices; // "NAME", "the GPUs of a vendor"
  std::string_view package;       // the Debian package that contains it
  std::vector<std::string_view> aliases;
  std::vector<std::string_view> pciVendors; // of its devices, as four hexadecimal digits; empty for the CPU
  std::vector<std::string_view>
      imageFormats; // formats its devices load, named as in core/bundle/ImageFormat.h
};

/// Returns all known backends, the CPU first. The vector lives as long as the process.
const std::vector<KnownBackend> &knownBackends();
/// Returns the backend of that name, or null if there is none. Aliases are not resolved.
const KnownBackend *knownBackend(std::string_view name);
/// Returns the backend whose devices load images of the format, or null if there is none.
const KnownBackend *backendOfFormat(std::string_view imageFormat);

/// Resolves an alias: returns the backend's name if `name` is an alias, otherwise `name` itself.
std::string canonicalBackend(std::string_view name);
/// Returns whether a component under plugins/ has this name or alias.
bool isOwnName(std::string_view name);

/// Returns one sentence for each known backend whose GPUs are in the machine and which is not among
/// `present`. The sentence names the package to install.
std::vector<std::string> installHints(const std::vector<std::string> &present,
                                      const std::vector<std::string> &pciVendors);

} // namespace tessera
