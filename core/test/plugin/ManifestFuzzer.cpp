// Arbitrary bytes as the payload of a note, and as a whole file.
#include "core/plugin/Manifest.h"
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Manifest manifest;
  if (PluginError e = parseManifest({reinterpret_cast<const char *>(data), size}, manifest);
      e && e.text.empty())
    abort();
  static const int fd = memfd_create("plugin", 0);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) abort();
  PluginFile file;
  if (PluginError e = readManifest(fd, file); e && e.text.empty()) abort();
  return 0;
}
