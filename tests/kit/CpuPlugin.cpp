// The CPU backend of libtessera.so as a loadable plugin for the conformance kit, built from the same sources.
#include <tessera/plugin.h>

namespace tessera {
int32_t cpuPluginQuery(const tsr_host_info_t *, tsr_plugin_info_t *);
}

extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *host,
                                                                         tsr_plugin_info_t *info) {
  return tessera::cpuPluginQuery(host, info);
}
