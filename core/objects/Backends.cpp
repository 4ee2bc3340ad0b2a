#include "core/objects/Backends.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/log/LastError.h"
#include "core/log/Log.h"
#include "core/objects/SelectionWarnings.h"
#include "core/plugin/Ending.h"
#include "core/plugin/KnownBackends.h"
#include "core/plugin/PluginBackend.h"
#include "core/plugin/Registered.h"
#include "core/support/Fork.h"
#include "core/support/NearestName.h"
#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <mutex>
#include <set>

namespace tessera {
namespace {

struct BackendTable {
  std::recursive_mutex mutex; // a plugin's create may call the library
  HeldAcrossFork heldAcrossFork{mutex};
  // By name. Shrinks only at the end of the process or when a plugin is unregistered.
  std::map<std::string, BackendRef> created;
  std::map<std::string, const Plugin *> plugins; // plugins outside of the library
  bool isEnding = false;
  std::map<std::string, int32_t> scores; // the score that a created backend reported itself
  std::string best;                      // the automatic choice; "" before there is one
  // `registrations` when `best` was chosen: valid until the next registration
  uint64_t bestSince = 0;
  // Counts registered and unregistered plugins. Read without the lock: a plugin may be registered while
  // others are examined.
  std::atomic<uint64_t> registrations = 0;
  std::set<std::string> texts; // the texts of rows
};

BackendTable &backendTable() {
  static BackendTable &s = *new BackendTable;
  return s;
}
[[maybe_unused]] const BackendTable &madeTable =
    backendTable(); // when the library is loaded: see HeldAcrossFork

/// The name that tsrSelectBackend set. Has a lock of its own, because it is read for each context, even while
/// a plugin is being created.
class SelectedByCall {
public:
  BackendRef get() {
    std::lock_guard lock(mutex_);
    return backend_;
  }
  void set(BackendRef backend) {
    std::lock_guard lock(mutex_);
    std::swap(backend_, backend);
  }
  /// Calls `retire` if only this table and the caller refer to `backend`, and removes the entry when it
  /// succeeds. The lock keeps others from obtaining the backend meanwhile. Otherwise changes nothing.
  template <class Retire> tsr_status_t release(const BackendRef &backend, Retire retire) {
    std::lock_guard lock(mutex_);
    const bool isSelected = backend && backend_ == backend;
    const tsr_status_t status = retire(backend.use_count() <= (isSelected ? 2 : 1));
    if (status == TSR_SUCCESS && isSelected) backend_ = nullptr;
    return status;
  }

private:
  std::mutex mutex_;
  HeldAcrossFork heldAcrossFork_{mutex_};
  BackendRef backend_;
};
SelectedByCall &selectedByCall() {
  static SelectedByCall &s = *new SelectedByCall;
  return s;
}
[[maybe_unused]] const SelectedByCall &madeSelected =
    selectedByCall(); // when the library is loaded: see HeldAcrossFork

tsr_status_t statusOf(const PluginError &e) {
  const bool isDevice = e.code == refusal::kHardware || e.code == refusal::kDeviceNode ||
                        e.code == refusal::kDriver || (e.code > 200 && e.code < 300) ||
                        e.code == refusal::kCreate;
  return isDevice ? TSR_EDEVICE : TSR_UNIMPLEMENTED;
}

/// Runs before the plugins' shutdown: releases every backend without a context.
void destroyBackends() {
  BackendTable &s = backendTable();
  std::lock_guard lock(s.mutex);
  s.isEnding = true;
  selectedByCall().set(nullptr);
  for (auto &[name, plugin] : s.plugins)
    if (plugin->objects == 0) s.created[name].reset();
}

/// Creates the backend of a loaded plugin, or of a variant of it. The caller holds the lock.
BackendRef create(const PluginRef &ref, const std::string &variant, PluginError &error) {
  BackendTable &s = backendTable();
  const Plugin &plugin = *ref;
  const std::string key = variant.empty() ? plugin.name : plugin.name + ":" + variant;
  BackendRef &slot = s.created[key];
  if (slot) return slot;
  if (s.isEnding) {
    error = {refusal::kCreate, "the process is ending", ""};
    return nullptr;
  }
  std::string why;
  tsr_probe_t found{};
  BackendRef backend = makePluginBackend(ref, variant, why);
  if (!backend)
    error = {refusal::kCreate, "it gave no backend: " + why, ""};
  else if (tsr_status_t status = backend->probe(found, why); status != TSR_SUCCESS)
    error = {status == TSR_ENOTFOUND ? refusal::kNoDevice : refusal::kProbeFailed,
             why.empty() ? "it found no device" : why, ""};
  else if (backend->deviceCount() < 1)
    error = {refusal::kNoDevice, "it found no device", ""};
  if (error) return nullptr;
  s.scores[key] = found.score;
  if (plugin.origin != Origin::Library && s.plugins.emplace(key, &plugin).second)
    beforeShutdown(destroyBackends);
  return slot = std::move(backend);
}

/// `asked`: where the name came from, for the text.
tsr_status_t find(std::string name, const std::string &asked, BackendRef &out, std::string &why) {
  BackendTable &s = backendTable();
  LogLater later;
  std::lock_guard lock(s.mutex);
  std::string variant;
  if (size_t colon = name.find(':'); colon != name.npos) {
    variant = name.substr(colon + 1);
    name.resize(colon);
    if (variant.empty() || variant[0] == ':') {
      why = asked + ": expected the name of a backend, or BACKEND:VARIANT";
      return TSR_ENOTFOUND;
    }
    if (const std::string architecture = environment("TESSERA_ARCH");
        !architecture.empty() && variant.find(':') == variant.npos)
      variant += ":" + architecture;
  }
  const std::string plain = canonicalBackend(name);
  name = variant.empty() ? plain : plain + ":" + variant;
  if (auto it = s.created.find(name); it != s.created.end() && it->second) {
    out = it->second;
    return TSR_SUCCESS;
  }
  PluginError error;
  std::string path;
  PluginRef plugin;
  if (isPluginName(plain))
    plugin = loadPlugin(TSR_PLUGIN_BACKEND, plain, error, path, variant.substr(0, variant.find(':')));
  if (plugin && (out = create(plugin, variant, error))) return TSR_SUCCESS;
  if (plugin) path = plugin->path;
  if (error && error.code != refusal::kNotInstalled) {
    why = asked + ": " + error.render(path);
    return statusOf(error);
  }
  // No such plugin. The list needs the manifests only: no plugin code runs.
  const KnownBackend *known = path.empty() ? knownBackend(plain) : nullptr;
  const std::vector<std::string> usable = usablePlugins(TSR_PLUGIN_BACKEND);
  if (known) {
    error.fix = "install " + std::string(known->package);
    why = asked + ": " + error.render("") + "; available: " + nameList(usable);
    return TSR_UNIMPLEMENTED;
  }
  std::vector<std::string_view> names(usable.begin(), usable.end());
  for (const KnownBackend &row : knownBackends())
    names.push_back(row.name);
  std::string lower = name;
  for (char &c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  why = asked + ": there is no such backend; available: " + nameList(usable);
  if (auto near = nearestName(lower, names); !near.empty())
    why += "; did you mean " + std::string(near) + "?";
  return TSR_ENOTFOUND;
}

int64_t rankOf(const Candidate &c) {
  return (int64_t(c.manifest ? c.manifest->priority : 0) << 32) + (c.found ? c.found->score : 0);
}

/// Two plugins may drive one device: the first in the list keeps it.
void dropSharedDevices(std::vector<Candidate> &ranked) {
  std::map<std::string, std::string> owner;
  for (Candidate &c : ranked) {
    if (c.error || !c.found) continue;
    int mine = 0, shared = 0;
    std::string whose;
    for (int i = 0; i < std::min<int>(c.found->device_count, TSR_PROBE_DEVICES); ++i) {
      std::string address = c.found->pci[i];
      if (address.empty()) continue;
      ++mine;
      auto [it, isNew] = owner.emplace(address, c.name);
      if (!isNew) ++shared, whose = address + " is served by " + it->second;
    }
    if (mine && mine == shared)
      c.error = {refusal::kSameDevice, "every device of it is one another plugin has: " + whose,
                 "name it in TESSERA_BACKEND to use it all the same"};
  }
}

/// Every backend, sorted from best to worst; unusable ones come last.
std::vector<Candidate> ranked() {
  auto all = surveyPlugins(TSR_PLUGIN_BACKEND, /*probe=*/true);
  std::sort(all.begin(), all.end(), [](const Candidate &a, const Candidate &b) {
    if (bool(a.error) != bool(b.error)) return !a.error;
    if (rankOf(a) != rankOf(b)) return rankOf(a) > rankOf(b);
    // Among equals the built-in backend comes first: a plugin must report a higher score to precede it.
    const bool isOwn = a.origin == Origin::Library, isOther = b.origin == Origin::Library;
    return isOwn != isOther ? isOwn : a.name < b.name;
  });
  dropSharedDevices(all);
  return all;
}

tsr_status_t findBest(BackendRef &out, std::string &why) {
  BackendTable &s = backendTable();
  const uint64_t now = s.registrations;
  {
    std::lock_guard lock(s.mutex);
    out = !s.best.empty() && s.bestSince == now ? s.created[s.best] : nullptr;
    if (out) return TSR_SUCCESS;
  }
  for (const Candidate &c : ranked()) {
    if (c.error || (c.found && c.found->score == 0)) continue;
    if (find(c.name, "backend '" + c.name + "'", out, why) != TSR_SUCCESS) {
      // its probe succeeded, but it cannot be created: try the next one
      log(TSR_LOG_WARNING, "W_PLUGIN", why);
      continue;
    }
    std::lock_guard lock(s.mutex);
    if (s.scores[c.name] == 0)
      continue; // reports that it is unsuitable: used only when it is requested by name
    // otherwise another thread has newer information
    if (now >= s.bestSince) s.best = c.name, s.bestSince = now;
    return TSR_SUCCESS;
  }
  return find("cpu", "backend 'cpu'", out, why);
}

} // namespace

tsr_status_t selectBackend(const char *requested, Selection &out, std::string &why) {
  // reported for every name: the list of plugin directories is unknown
  if (std::string wrong = configError(); !wrong.empty()) {
    why = "E_CONFIG " + wrong;
    return TSR_EINVAL;
  }
  if (requested) {
    out.reason = "the context's options";
    return find(requested, "backend '" + std::string(requested) + "'", out.backend, why);
  }
  if (BackendRef chosen = selectedByCall().get()) {
    out = {std::move(chosen), "tsrSelectBackend"};
    return TSR_SUCCESS;
  }
  if (const Setting said = setting("TESSERA_BACKEND"); !said.value.empty()) {
    const bool isVariable = said.from == "TESSERA_BACKEND";
    out.reason = isVariable ? "TESSERA_BACKEND" : "the configuration file";
    return find(said.value, said.from + (isVariable ? "=" : ": ") + said.value, out.backend, why);
  }
  out.reason = "the best available";
  return findBest(out.backend, why);
}

tsr_status_t selectDevice(const char *requested, int32_t device, Selection &out) {
  std::string why;
  if (tsr_status_t status = selectBackend(requested, out, why)) return fail(status, why);
  warnAboutUnusedSettings(out.backend->name());
  int devices = out.backend->deviceCount();
  if (device >= 0 && device < devices) return TSR_SUCCESS;
  return fail(TSR_ENOTFOUND, "backend " + std::string(out.backend->name()) + " has " +
                                 std::to_string(devices) + " device(s), there is no device " +
                                 std::to_string(device));
}

tsr_status_t setSelectedBackend(const char *name, std::string &why) {
  BackendRef backend;
  if (name)
    if (tsr_status_t status = find(name, "backend '" + std::string(name) + "'", backend, why)) return status;
  selectedByCall().set(std::move(backend));
  return TSR_SUCCESS;
}

std::optional<BackendRow> backendRow(size_t index, size_t &count) {
  struct Row {
    std::string name, description, reason;
    BackendRef backend;
  };
  auto all = ranked();
  std::vector<Row> now;
  for (const KnownBackend &known : knownBackends())
    now.push_back({std::string(known.name), std::string(known.devices),
                   "TSRP-401 not installed / fix: install " + std::string(known.package), nullptr});
  for (const Candidate &c : all) {
    if (c.name.empty()) continue;
    auto it = std::find_if(now.begin(), now.end(), [&](const Row &row) { return row.name == c.name; });
    if (it == now.end()) it = now.insert(now.end(), Row{c.name, "", "", nullptr});
    if (it->backend) continue; // another backend of that name, which was refused
    if (c.manifest) it->description = c.manifest->description;
    it->reason = c.error ? c.error.render("") : "";
    if (!c.error) {
      std::string why;
      if (find(c.name, c.name, it->backend, why) != TSR_SUCCESS) it->reason = why;
    }
  }
  count = now.size();
  if (index >= count) return std::nullopt;
  BackendTable &s = backendTable();
  std::lock_guard lock(s.mutex);
  auto text = [&](const std::string &t) { return s.texts.insert(t).first->c_str(); };
  const Row &row = now[index];
  return BackendRow{text(row.name), text(row.description), text(row.reason), row.backend};
}

tsr_status_t addPlugin(tsr_plugin_query_fn query, std::string &why) {
  tsr_status_t status = registerPlugin(query, why);
  if (status == TSR_SUCCESS) ++backendTable().registrations;
  return status;
}

tsr_status_t removePlugin(const std::string &name, std::string &why) {
  BackendTable &s = backendTable();
  LogLater later;
  std::shared_ptr<Plugin> plugin;
  BackendRef backend; // destroyed after the lock is released: its destructor is plugin code
  {
    std::lock_guard lock(s.mutex);
    auto it = s.created.find(name);
    const bool isCreated = it != s.created.end() && it->second && registeredPlugin(name);
    // Contexts and running calls share ownership of the backend; backend, mappers and communicators share
    // ownership of the plugin.
    const tsr_status_t status =
        selectedByCall().release(isCreated ? it->second : backend, [&](bool isUnused) {
          if (isUnused) return retirePlugin(name, isCreated ? 1 : 0, plugin, why);
          why =
              "plugin " + name + " is in use: destroy its contexts, and wait for the calls of other threads";
          return TSR_EINVAL;
        });
    if (status != TSR_SUCCESS) return status;
    ++s.registrations;
    if (isCreated) {
      backend = std::move(it->second);
      s.created.erase(it);
      s.plugins.erase(name);
      s.scores.erase(name);
    }
  }
  backend.reset();
  shutDownRetired(plugin);
  return TSR_SUCCESS;
}

} // namespace tessera
