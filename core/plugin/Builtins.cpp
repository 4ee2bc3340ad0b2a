#include "core/plugin/Builtins.h"

namespace tessera {

// Each is a tsrPluginQuery of its folder under plugins/; only their names are known here.
int32_t cpuPluginQuery(const tsr_host_info_t *, tsr_plugin_info_t *);
int32_t queryInProcess(const tsr_host_info_t *, tsr_plugin_info_t *);
int32_t queryProfiles(const tsr_host_info_t *, tsr_plugin_info_t *);

std::span<const Builtin> builtinPlugins() {
  static constexpr Builtin kTable[] = {
      {"cpu", cpuPluginQuery},
      {"inprocess", queryInProcess},
      {"profiles", queryProfiles},
  };
  return kTable;
}

} // namespace tessera
