#include "core/plugin/Builtins.h"

namespace tessera {

int32_t queryInProcess(const tsr_host_info_t *, tsr_plugin_info_t *); // plugins/inprocess/collective

std::span<const Builtin> builtinPlugins() {
  static constexpr Builtin rows[] = {{"inprocess", queryInProcess}};
  return rows;
}

} // namespace tessera
