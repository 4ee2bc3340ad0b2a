// The backends that come with Tessera, whether they are installed or not. The rows are generated from
// plugins/*/plugin.json (cmake/TesseraKnownBackends.cmake).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct KnownBackend {
  std::string_view name, devices; // "NAME", "the GPUs of a vendor"
  std::string_view package;       // the Debian package that has it
  std::vector<std::string_view> aliases;
  std::vector<std::string_view> pciVendors; // of its devices, four hexadecimal digits; none for the host's
  std::vector<std::string_view>
      imageFormats; // that its devices load, as core/bundle/ImageFormat.h names them
};

/// The CPU first. Lives as long as the process.
const std::vector<KnownBackend> &knownBackends();
/// The backend of that name, not of an alias; null if there is none.
const KnownBackend *knownBackend(std::string_view name);
/// The backend whose devices load images of the format; null if there is none.
const KnownBackend *backendOfFormat(std::string_view imageFormat);

/// The name that `name` is an alias of; otherwise `name` itself.
std::string canonicalBackend(std::string_view name);
/// Whether something under plugins/ has this name or alias.
bool isOwnName(std::string_view name);

/// A sentence for each GPU in the machine whose backend is not among `present`: which package drives it.
std::vector<std::string> installHints(const std::vector<std::string> &present,
                                      const std::vector<std::string> &pciVendors);

} // namespace tessera
