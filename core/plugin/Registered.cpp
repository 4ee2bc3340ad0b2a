#include "core/plugin/Registered.h"
#include "core/log/Log.h"
#include "core/plugin/Ending.h"
#include "core/plugin/KnownBackends.h"
#include "core/plugin/Loading.h"
#include "core/plugin/Mappers.h"
#include "core/plugin/Match.h"
#include "core/plugin/PluginLog.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

constexpr uint32_t kKinds =
    TSR_PLUGIN_BACKEND | TSR_PLUGIN_MAPPER | TSR_PLUGIN_COLLECTIVE | TSR_PLUGIN_NUMERICS | TSR_PLUGIN_CODEGEN;

struct RegisteredPlugins {
  std::mutex mutex; // never held while a plugin's code runs
  HeldAcrossFork heldAcrossFork{mutex};
  std::vector<std::shared_ptr<Plugin>> plugins;
  std::vector<std::string> leaving; // removed from `plugins` but not yet shut down
};

RegisteredPlugins &table() {
  static RegisteredPlugins &s =
      *new RegisteredPlugins; // never destroyed: plugins are used until the process has ended
  return s;
}
[[maybe_unused]] const RegisteredPlugins &madeTable =
    table(); // when the library is loaded: see HeldAcrossFork

auto findIn(std::vector<std::shared_ptr<Plugin>> &plugins, std::string_view name) {
  return std::find_if(plugins.begin(), plugins.end(), [&](const auto &p) { return p->name == name; });
}

/// Runs at the end of the process, as shutDownPlugins() does for the plugins of files.
void shutDownRegistered() {
  letGoOfPluginObjects();
  std::vector<std::shared_ptr<Plugin>> plugins;
  {
    std::lock_guard lock(table().mutex);
    plugins = table().plugins;
  }
  for (auto &plugin : plugins)
    if (plugin->objects == 0)
      if (auto shutdown = std::exchange(plugin->info.shutdown, nullptr)) shutdown();
}

PluginError checkName(const std::string &name) {
  if (!isPluginName(name))
    return {refusal::kQuery, "its query calls it '" + name + "': a name is 1 to 64 of a-z, 0-9, - and _", ""};
  if (std::string canonical = canonicalBackend(name); canonical != name)
    return {refusal::kQuery, "its query calls it '" + name + "', which is an alias of " + canonical, ""};
  return {};
}

PluginError checkKinds(uint32_t kinds) {
  if (!kinds) return {refusal::kKind, "its query names no kind", ""};
  if (kinds & ~kKinds)
    return {refusal::kKind,
            "its kinds have a bit that this runtime does not know; it knows " + kindList(kKinds),
            "upgrade libtessera1"};
  return {};
}

PluginError checkMapperName(const Plugin &plugin) {
  if (!(plugin.info.kinds & TSR_PLUGIN_MAPPER) || !isBuiltinMapper(plugin.name)) return {};
  return {refusal::kNameTaken, "Tessera's own mapper '" + plugin.name + "' takes precedence",
          "give the plugin another name"};
}

PluginError nameTaken(const std::string &name) {
  return {refusal::kNameTaken, "a plugin of that name is already in this process",
          "give it another name, or call tsrUnregisterPlugin(\"" + name +
              "\") if the program registered that one"};
}

/// Runs the checks of stages 4 and 7 that need no note.
PluginError query(tsr_plugin_query_fn function, Plugin &plugin) {
  PluginError error;
  plugin.origin = Origin::Program;
  if (!askPlugin(function, plugin, error)) return error;
  if ((error = checkName(plugin.name))) return error;
  if ((error = checkKinds(plugin.info.kinds))) return error;
  if ((error = checkMapperName(plugin))) return error;
  if ((error = matchContract(manifestOf(plugin.info), pluginHost()))) return error;
  return checkTables(plugin.info); // last: a plugin of another contract version may have another layout
}

} // namespace

Manifest manifestOf(const tsr_plugin_info_t &info) {
  auto list = [](const char *text) {
    std::vector<std::string> out;
    for (std::string_view rest = text ? text : ""; !rest.empty();) {
      const size_t end = std::min(rest.find(','), rest.size());
      if (end) out.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  };
  Manifest m;
  m.name = info.name, m.version = info.version, m.description = info.description;
  m.compilerAbi = info.compiler_abi;
  m.kinds = info.kinds;
  m.abiMajor = info.abi_major, m.builtMinor = info.built_minor, m.needsMinor = info.needs_minor;
  m.featuresRequired = list(info.features_required), m.featuresOptional = list(info.features_optional);
  return m;
}

tsr_status_t registerPlugin(tsr_plugin_query_fn function, std::string &why) {
  auto plugin = std::make_shared<Plugin>();
  PluginError error = query(function, *plugin);
  // This takes the registry's lock, under which this file's lock is taken, so it must come before the lock
  // below.
  if (!error && isPluginLoaded(plugin->name)) error = nameTaken(plugin->name);
  if (!error) {
    RegisteredPlugins &s = table();
    std::lock_guard lock(s.mutex);
    if (findIn(s.plugins, plugin->name) == s.plugins.end() &&
        std::find(s.leaving.begin(), s.leaving.end(), plugin->name) == s.leaving.end())
      s.plugins.push_back(plugin);
    else
      error = nameTaken(plugin->name);
  }
  const std::string what = "registered plugin " + (plugin->name.empty() ? "(no name)" : plugin->name);
  pluginLog(what, error ? error.render("") : "usable");
  if (!error) {
    // runs before the destructors of objects that the program has constructed so far
    std::atexit(shutDownRegistered);
    return TSR_SUCCESS;
  }
  why = error.render(what);
  const bool isOtherContract = error.code == refusal::kAbiMajor || error.code == refusal::kAbiNewer ||
                               error.code == refusal::kAbiOlder || error.code == refusal::kFeature ||
                               error.code == refusal::kInterface || error.code == refusal::kCompilerAbi;
  return isOtherContract ? TSR_UNIMPLEMENTED : TSR_EINVAL;
}

tsr_status_t retirePlugin(const std::string &name, long others, std::shared_ptr<Plugin> &out,
                          std::string &why) {
  RegisteredPlugins &s = table();
  std::lock_guard lock(s.mutex);
  auto it = findIn(s.plugins, name);
  if (it == s.plugins.end()) {
    why = "no plugin named '" + name + "' is registered";
    return TSR_ENOTFOUND;
  }
  if (it->use_count() > 1 + others) {
    why = "plugin " + name +
          " is in use: destroy its contexts and communicators, unset its mapper, and wait for the calls of "
          "other threads";
    return TSR_EINVAL;
  }
  s.leaving.push_back(name);
  out = std::move(*it);
  s.plugins.erase(it);
  return TSR_SUCCESS;
}

void shutDownRetired(const std::shared_ptr<Plugin> &plugin) {
  pluginLog("registered plugin " + plugin->name, "unregistered");
  if (plugin->info.shutdown) plugin->info.shutdown();
  RegisteredPlugins &s = table();
  std::lock_guard lock(s.mutex);
  s.leaving.erase(std::find(s.leaving.begin(), s.leaving.end(), plugin->name));
}

PluginRef registeredPlugin(std::string_view name) {
  RegisteredPlugins &s = table();
  std::lock_guard lock(s.mutex);
  auto it = findIn(s.plugins, name);
  return it == s.plugins.end() ? nullptr : *it;
}

std::vector<PluginRef> registeredPlugins() {
  RegisteredPlugins &s = table();
  std::lock_guard lock(s.mutex);
  return {s.plugins.begin(), s.plugins.end()};
}

} // namespace tessera
