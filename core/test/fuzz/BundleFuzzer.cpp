// Arbitrary bytes as a bundle, unchanged and with a valid checksum. Nothing may crash, and an accepted bundle
// must have the same contents after writing and reading.
#include "core/bundle/Bundle.h"
#include "core/metadata/KernelMetadata.h"
#include <cstdint>
#include <cstdlib>

using namespace tessera;

namespace {

void check(const std::string &bytes) {
  Bundle bundle, again;
  BundleError error;
  if (!readBundle(bytes, "input", bundle, error)) {
    if (error.code.empty() || error.message.empty()) abort();
    return;
  }
  for (const BundleImage &image : bundle.images)
    for (const BundleEntry &entry : image.entries) {
      KernelMetadata metadata;
      std::string why;
      if (!KernelMetadata::fromYaml(entry.metadata, metadata, why) && why.empty()) abort();
    }
  std::string written;
  if (!writeBundle(bundle, written, error) || !readBundle(written, "copy", again, error)) abort();
  if (again.images.size() != bundle.images.size() || again.ir.size() != bundle.ir.size()) abort();
  for (size_t i = 0; i < bundle.images.size(); ++i)
    if (again.images[i].hash != bundle.images[i].hash || again.images[i].data != bundle.images[i].data)
      abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  check(bytes);
  if (resealBundle(bytes)) check(bytes);
  return 0;
}
