#include "core/plugin/Registry.h"
#include "core/config/Config.h"
#include "core/log/Log.h"
#include "core/plugin/Builtins.h"
#include "core/plugin/Ending.h"
#include "core/plugin/KnownBackends.h"
#include "core/plugin/Loading.h"
#include "core/plugin/Mappers.h"
#include "core/plugin/Match.h"
#include "core/plugin/PluginLog.h"
#include "core/plugin/Probe.h"
#include "core/plugin/Quarantine.h"
#include "core/plugin/Registered.h"
#include "core/plugin/SearchPath.h"
#include "core/service/BuildId.h"
#include "core/support/Fork.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <unistd.h>
#include <utility>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

struct LoadedPlugins {
  std::recursive_mutex mutex; // recursive: a plugin's create may call the library
  HeldAcrossFork heldAcrossFork{mutex};
  // by path, or by name for those inside libtessera.so; never shrinks
  std::map<std::string, std::shared_ptr<Plugin>> loaded;
  std::map<std::string, ProbeResult> probes; // by path
};

LoadedPlugins &loadedPlugins() {
  static LoadedPlugins &s =
      *new LoadedPlugins; // never destroyed: plugins are used until the process has ended
  return s;
}
[[maybe_unused]] const LoadedPlugins &madePlugins =
    loadedPlugins(); // when the library is loaded: see HeldAcrossFork

/// Runs when the process ends, before the destructors of objects from libraries loaded earlier.
void shutDownPlugins() {
  letGoOfPluginObjects();
  LoadedPlugins &s = loadedPlugins();
  LogLater later;
  std::lock_guard lock(s.mutex);
  for (auto &[key, plugin] : s.loaded) {
    auto shutdown = std::exchange(plugin->info.shutdown, nullptr);
    if (!shutdown) continue;
    if (plugin->objects == 0)
      shutdown();
    else
      pluginLog(plugin->path, "shutdown is not called: some of its objects are still alive");
  }
}

PluginRef builtin(const Builtin &row) {
  LoadedPlugins &s = loadedPlugins();
  auto it = s.loaded.find(row.name);
  if (it == s.loaded.end()) {
    auto plugin = std::make_shared<Plugin>();
    plugin->origin = Origin::Library;
    PluginError error;
    if (!queryPlugin(row.query, *plugin, error)) return nullptr;
    it = s.loaded.emplace(row.name, std::move(plugin)).first;
  }
  return it->second;
}

/// Checks that the file's name and the manifest agree on what loadPlugin() looks for.
PluginError checkFileName(const Manifest &m, const FileName &file) {
  if (m.name != file.name)
    return {refusal::kFileName, "its manifest names plugin " + m.name + ", its file name " + file.name,
            "name the file as tessera_add_plugin() does"};
  if (!(m.kinds & file.kind))
    return {refusal::kKind,
            "it is of kind " + kindList(m.kinds) + ", its file is named as a " + kindList(file.kind) + " is",
            "name it " + fileNameOf(m.kinds & -m.kinds, m.name) + ", as tessera_add_plugin() does"};
  bool isTaken = (m.kinds & TSR_PLUGIN_MAPPER) && isBuiltinMapper(m.name);
  for (const Builtin &row : builtinPlugins())
    if (m.name == row.name)
      if (PluginRef plugin = builtin(row)) isTaken |= (plugin->info.kinds & m.kinds) != 0;
  if (isTaken)
    return {refusal::kNameTaken, "'" + m.name + "' is a part of Tessera, which takes precedence",
            "give the plugin another name"};
  return {};
}

/// Is the plugin refused only because the machine lacks the hardware of its own devices?
bool lacksHardware(const PluginError &e) {
  return e.code == refusal::kHardware || e.code == refusal::kDeviceNode || e.code == refusal::kDriver;
}

PluginError checkVariant(const Manifest &m, std::string_view variant) {
  if (variant.empty() || std::ranges::find(m.variants, variant) != m.variants.end()) return {};
  return {refusal::kNotInstalled,
          "plugin " + m.name + " has no devices '" + std::string(variant) + "'" +
              (m.variants.empty() ? "" : "; it has " + nameList(m.variants)),
          ""};
}

/// Runs stages 2 to 4.
Candidate examine(const std::string &directory, const std::string &path) {
  Candidate out;
  out.path = path;
  const FileName called = nameOfFile(path);
  out.name = called.name;
  if ((out.error = checkPermissions(directory, path))) return out;
  auto begin = Clock::now();
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    out.error = {refusal::kUnreadable, std::string("it cannot be opened: ") + std::strerror(errno), ""};
    return out;
  }
  PluginFile file;
  out.error = readManifest(fd, file);
  close(fd);
  out.noteMicroseconds = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  if (out.error) return out;
  out.manifest = file.manifest;
  if ((out.error = checkFileName(file.manifest, called))) return out;
  if (!(out.error = matchRuntime(file, pluginHost()))) out.error = matchHardware(file.manifest);
  return out;
}

bool isDisabled(const std::string &name) {
  return std::ranges::any_of(disabledBackends(),
                             [&](const std::string &listed) { return canonicalBackend(listed) == name; });
}

PluginError wrongKind(uint32_t found, uint32_t wanted) {
  return {refusal::kKind, "it is of kind " + kindList(found) + ", but " + kindList(wanted) + " is required",
          ""};
}

PluginError disabled(const std::string &name) {
  return {refusal::kDisabled, setting("TESSERA_BACKENDS_DISABLE").from + " names " + name,
          "remove it from that list"};
}

PluginRef loadFile(Candidate &c) {
  LoadedPlugins &s = loadedPlugins();
  if (auto it = s.loaded.find(c.path); it != s.loaded.end()) {
    c.isLoaded = true;
    return it->second;
  }
  auto plugin = loadPluginFile(c.path, *c.manifest, c.error);
  pluginLog(c.path, c.error ? c.error.render("") : "loaded");
  if (!plugin) return nullptr;
  c.isLoaded = true;
  // Registered after the load, so that it runs before the destructors of the plugin's own objects.
  std::atexit(shutDownPlugins);
  return s.loaded.emplace(c.path, std::move(plugin)).first->second;
}

/// Runs stage 5, once per file and process.
void probe(Candidate &c) {
  LoadedPlugins &s = loadedPlugins();
  auto it = s.probes.find(c.path);
  if (it == s.probes.end()) {
    std::string how = setting("TESSERA_PROBE").value;
    ProbeResult result;
    if (how == "note") { // the note and /sys are trusted
      result.found.struct_size = sizeof result.found;
      result.found.device_count = 1;
      result.found.score = 200;
    } else if (how == "inproc") {
      if (PluginRef plugin = loadFile(c))
        result = probeHere(plugin->info);
      else
        result.error = c.error;
    } else {
      std::string key = quarantineKey(c.path, moduleVersion(c.manifest->driverModule));
      if (std::string why = quarantined(key); !why.empty()) {
        result.error = {refusal::kQuarantined, "an earlier probe of this file failed: " + why,
                        "run tsr backends --reset to probe it again"};
      } else {
        result = probeApart(proberPath(), c.path);
        if (result.isCrash) quarantine(key, c.path, result.error.text);
      }
    }
    it = s.probes.emplace(c.path, std::move(result)).first;
  }
  c.probeMilliseconds = it->second.milliseconds;
  if (it->second.error)
    c.error = it->second.error;
  else
    c.found = it->second.found;
}

/// Describes a plugin that is already in the process. Its probe runs in this process at each call.
Candidate inProcess(const Plugin &plugin, bool withProbe) {
  Candidate c;
  c.name = plugin.name;
  c.origin = plugin.origin;
  c.manifest = manifestOf(plugin.info);
  c.isLoaded = true;
  if ((plugin.info.kinds & TSR_PLUGIN_BACKEND) && isDisabled(c.name))
    c.error = disabled(c.name);
  else if (withProbe && (plugin.info.kinds & TSR_PLUGIN_BACKEND)) {
    ProbeResult result = probeHere(plugin.info);
    if (!(c.error = result.error)) c.found = result.found;
  }
  return c;
}

void forwardLog(void *, int32_t level, const char *code, const char *text) {
  if (level < TSR_LOG_ERROR || level > TSR_LOG_DEBUG) level = TSR_LOG_NOTE;
  try {
    log(static_cast<tsr_log_level_t>(level), code ? code : "", text ? text : "");
  } catch (const std::bad_alloc &) { // dropped: no exception may propagate through the plugin
  }
}

} // namespace

const tsr_host_info_t &pluginHost() {
  static const tsr_host_info_t host = {sizeof(tsr_host_info_t),
                                       TSR_PLUGIN_ABI_MAJOR,
                                       TSR_PLUGIN_ABI_MINOR,
                                       TSR_PLUGIN_ABI_FLOOR,
                                       0,
                                       TESSERA_VERSION,
                                       TESSERA_BUILD_ID,
                                       forwardLog,
                                       nullptr,
                                       ""};
  return host;
}

PluginRef loadPlugin(uint32_t kind, std::string_view nameView, PluginError &error, std::string &path,
                     std::string_view variant) {
  LoadedPlugins &s = loadedPlugins();
  LogLater later;
  std::lock_guard lock(s.mutex);
  const std::string name(nameView);
  error = {};
  path.clear();
  if (kind == TSR_PLUGIN_BACKEND && isDisabled(name)) {
    error = disabled(name);
    return nullptr;
  }
  for (const Builtin &row : builtinPlugins())
    if (name == row.name)
      if (PluginRef plugin = builtin(row); plugin && (plugin->info.kinds & kind))
        return (error = checkVariant(manifestOf(plugin->info), variant)) ? nullptr : plugin;
  if (PluginRef plugin = registeredPlugin(name)) {
    error = plugin->info.kinds & kind ? checkVariant(manifestOf(plugin->info), variant)
                                      : wrongKind(plugin->info.kinds, kind);
    return error ? nullptr : plugin;
  }
  if (!isPluginName(name)) { // anything else could be a path to an unchecked file
    error = {refusal::kNotInstalled, "'" + name + "' is not a plugin name: 1 to 64 of a-z, 0-9, - and _", ""};
    return nullptr;
  }
  SearchPath search = searchPath();
  for (const std::string &directory : search.directories) {
    path = directory + "/" + fileNameOf(kind, name);
    if (access(path.c_str(), F_OK) != 0) continue;
    Candidate c = examine(directory, path);
    if (!variant.empty() && (!c.error || lacksHardware(c.error)))
      c.error = checkVariant(*c.manifest, variant);
    if (!c.error && !(c.kinds() & kind)) c.error = wrongKind(c.kinds(), kind);
    PluginRef plugin = c.error ? nullptr : loadFile(c);
    if (!plugin) error = c.error;
    return plugin;
  }
  // A plugin of several kinds has one file, which is named after one of them.
  for (const std::string &directory : search.directories)
    for (uint32_t other : {TSR_PLUGIN_BACKEND, TSR_PLUGIN_MAPPER, TSR_PLUGIN_COLLECTIVE, TSR_PLUGIN_NUMERICS,
                           TSR_PLUGIN_CODEGEN}) {
      path = directory + "/" + fileNameOf(other, name);
      if (other == kind || access(path.c_str(), F_OK) != 0) continue;
      Candidate c = examine(directory, path);
      if (!(c.kinds() & kind)) continue;
      PluginRef plugin = c.error ? nullptr : loadFile(c);
      if (!plugin) error = c.error;
      return plugin;
    }
  path.clear();
  std::string where;
  for (const std::string &directory : search.directories)
    where += (where.empty() ? "" : ", ") + directory;
  error = {refusal::kNotInstalled,
           "there is no " + fileNameOf(kind, name) + " in " +
               (where.empty() ? "any plugin directory" : where),
           ""};
  return nullptr;
}

PluginRef loadPlugin(uint32_t kind, std::string_view name, std::string &why) {
  PluginError error;
  std::string path;
  PluginRef plugin = loadPlugin(kind, name, error, path);
  if (!plugin) why = error.render(path);
  return plugin;
}

bool isPluginLoaded(std::string_view name) {
  for (const Builtin &row : builtinPlugins())
    if (name == row.name) return true;
  LoadedPlugins &s = loadedPlugins();
  LogLater later;
  std::lock_guard lock(s.mutex);
  for (auto &[path, plugin] : s.loaded)
    if (name == plugin->name) return true;
  return false;
}

std::vector<Candidate> surveyPlugins(uint32_t kinds, bool withProbe) {
  LoadedPlugins &s = loadedPlugins();
  LogLater later;
  std::lock_guard lock(s.mutex);
  std::vector<Candidate> out;
  for (const Builtin &row : builtinPlugins())
    if (PluginRef plugin = builtin(row); plugin && (plugin->info.kinds & kinds))
      out.push_back(inProcess(*plugin, withProbe));
  const std::vector<PluginRef> ofProgram = registeredPlugins();
  for (const PluginRef &plugin : ofProgram)
    if (plugin->info.kinds & kinds) out.push_back(inProcess(*plugin, withProbe));
  std::map<std::string, std::string> seen; // file name -> the first path with it
  SearchPath search = searchPath();
  for (auto &[path, error] : search.refused) {
    Candidate c;
    c.path = path, c.error = error;
    out.push_back(std::move(c));
  }
  for (const std::string &directory : search.directories) {
    std::vector<std::string> files;
    if (PluginError error = listPlugins(directory, files)) {
      Candidate c;
      c.path = directory, c.error = error;
      out.push_back(std::move(c));
    }
    for (const std::string &path : files) {
      Candidate c = examine(directory, path);
      if (c.manifest && !(c.kinds() & kinds)) continue;
      auto [first, isNew] = seen.emplace(path.substr(path.rfind('/') + 1), path);
      if (!isNew)
        c.error = {refusal::kDuplicate,
                   "a plugin of that name comes earlier in the search path: " + first->second, ""};
      else if (!c.error && std::any_of(ofProgram.begin(), ofProgram.end(),
                                       [&](const PluginRef &plugin) { return plugin->name == c.name; }))
        c.error = {refusal::kDuplicate, "the program has registered a plugin of that name", ""};
      else if (!c.error && (c.kinds() & TSR_PLUGIN_BACKEND) && isDisabled(c.name))
        c.error = disabled(c.name);
      c.isLoaded = s.loaded.count(path) != 0;
      if (withProbe && !c.error && (c.kinds() & TSR_PLUGIN_BACKEND)) probe(c);
      pluginLog(path, c.error ? c.error.render("") : "usable");
      out.push_back(std::move(c));
    }
  }
  return out;
}

bool probeAnyway(const Candidate &c, ProbeResult &out) {
  if (c.path.empty() || !(c.kinds() & TSR_PLUGIN_BACKEND)) return false;
  constexpr int kMayRun[] = {refusal::kHardware,    refusal::kDeviceNode,  refusal::kDriver,
                             refusal::kQuarantined, refusal::kProbeFailed, refusal::kNoDevice,
                             refusal::kDisabled,    refusal::kSameDevice};
  const bool mayRun = !c.error || (c.error.code > 200 && c.error.code < 300) ||
                      std::find(std::begin(kMayRun), std::end(kMayRun), c.error.code) != std::end(kMayRun);
  if (mayRun) out = probeApart(proberPath(), c.path);
  return mayRun;
}

std::vector<std::string> disabledBackends() {
  const std::string list = setting("TESSERA_BACKENDS_DISABLE").value;
  std::vector<std::string> out;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find_first_of(", ", at), list.size());
    if (end > at) out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> usablePlugins(uint32_t kind) {
  std::vector<std::string> out;
  for (const Candidate &c : surveyPlugins(kind, /*probe=*/false))
    if (!c.error && std::find(out.begin(), out.end(), c.name) == out.end()) out.push_back(c.name);
  return out;
}

std::string nameList(const std::vector<std::string> &names) {
  std::string out;
  for (const std::string &name : names)
    out += (out.empty() ? "" : ", ") + name;
  return out;
}

} // namespace tessera
