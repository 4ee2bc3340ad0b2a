#include "core/plugin/Registry.h"
#include "core/BuildId.h"
#include "core/plugin/Builtins.h"
#include <map>
#include <memory>
#include <mutex>
#include <tessera/thunk.hpp>

namespace tessera {
namespace {

struct State {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Plugin>, std::less<>> loaded; // never shrinks
};

State &state() {
  static State &s = *new State; // plugins are used until the process has ended
  return s;
}

bool query(tsr_plugin_query_fn call, Plugin &out, std::string &why) {
  out.info = {};
  out.info.struct_size = sizeof out.info;
  if (int32_t status = call(&pluginHost(), &out.info)) {
    why = "its query returned status " + std::to_string(status);
    return false;
  }
  out.name = out.info.name;
  out.version = out.info.version;
  return true;
}

} // namespace

const tsr_host_info_t &pluginHost() {
  static const tsr_host_info_t host = {sizeof(tsr_host_info_t),
                                       TSR_PLUGIN_ABI_MAJOR,
                                       TSR_PLUGIN_ABI_MINOR,
                                       TSR_PLUGIN_ABI_FLOOR,
                                       0,
                                       TESSERA_VERSION,
                                       "",
                                       nullptr,
                                       nullptr};
  return host;
}

const Plugin *loadPlugin(uint32_t kind, std::string_view name, std::string &why) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  if (auto it = s.loaded.find(name); it != s.loaded.end())
    if (it->second->info.kinds & kind) return it->second.get();
  for (const Builtin &row : builtinPlugins()) {
    if (name != row.name) continue;
    auto plugin = std::make_unique<Plugin>();
    if (!query(row.query, *plugin, why)) return nullptr;
    if (!(plugin->info.kinds & kind)) continue;
    return s.loaded.emplace(plugin->name, std::move(plugin)).first->second.get();
  }
  why = "there is no plugin " + std::string(name);
  return nullptr;
}

std::string builtinNames(uint32_t kind) {
  std::string out;
  for (const Builtin &row : builtinPlugins()) {
    Plugin plugin;
    std::string why;
    if (query(row.query, plugin, why) && (plugin.info.kinds & kind))
      out += (out.empty() ? "" : ", ") + plugin.name;
  }
  return out;
}

} // namespace tessera
