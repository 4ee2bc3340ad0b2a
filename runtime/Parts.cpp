// What libtessera.so consists of besides core: the plugins that are linked into it, and mappers. Core knows
// them through interfaces alone and refers to no symbol of theirs; this file names both sides. It is an
// object on the link line (core/CMakeLists.txt), not a member of an archive, so the linker cannot drop it.
#include "core/plugin/Builtins.h"
#include "core/plugin/CodegenLoading.h"
#include "core/plugin/Mappers.h"
#include "mapper/host/Mappers.h"

namespace tessera {

// Each is the tsrPluginQuery of its folder under plugins/.
int32_t cpuPluginQuery(const tsr_host_info_t *, tsr_plugin_info_t *);
int32_t queryInProcess(const tsr_host_info_t *, tsr_plugin_info_t *);
int32_t queryProfiles(const tsr_host_info_t *, tsr_plugin_info_t *);

namespace {

/// Runs when the library is loaded, before any call of its ABI.
__attribute__((constructor)) void registerParts() {
  static constexpr Builtin kPlugins[] = {
      {"cpu", cpuPluginQuery},
      {"inprocess", queryInProcess},
      {"profiles", queryProfiles},
  };
  setBuiltinPlugins(kPlugins);
  setMappers(mapping::mappers());
  setCodegenPlugins(loadedCodegenPlugins());
}

} // namespace
} // namespace tessera
