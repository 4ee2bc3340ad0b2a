// The plugins of this process: those inside libtessera.so, those the program registered (Registered.h), and
// those loaded from the plugin directories.
//
// A plugin of a directory passes seven stages, each of which may refuse it with its own code (PluginError.h).
// (1) Its directory is listed. (2) The owner and mode of its file are checked. (3) Its note is read. (4) The
// note is matched with this runtime and machine. (5) In automatic selection, a separate process probes it.
// (6) It is loaded. (7) It is queried and its answer is compared with the note. No code of the plugin runs
// before the probe. A loaded plugin is never unloaded.
#pragma once
#include "core/plugin/Manifest.h"
#include "core/plugin/Probe.h"
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <vector>

namespace tessera {

enum class Origin : uint8_t { Library, Program, File }; // libtessera.so, tsrRegisterPlugin, a directory

/// A plugin that is loaded and checked.
struct Plugin {
  std::string name, version, path; // path: "" unless it came from a file
  Origin origin = Origin::File;
  tsr_plugin_info_t info{}; // complete: fields that the plugin's version does not have are zero
  mutable std::atomic<int64_t> objects{
      0}; // live contexts, communicators and mappers; shutdown is called only when it is zero
};

/// Keeps the plugin in use: it cannot be unregistered while a reference exists. Only plugins that the program
/// registered can be unregistered.
using PluginRef = std::shared_ptr<const Plugin>;

/// What is known about a file in a plugin directory, or about a plugin that is already in the process.
struct Candidate {
  std::string name, path; // path: "" unless it is a file
  Origin origin = Origin::File;
  std::optional<Manifest> manifest; // set once the note has been read
  PluginError error;                // why it cannot be used, or none
  bool isLoaded = false;
  std::optional<tsr_probe_t> found; // set once a probe has succeeded
  double noteMicroseconds = 0, probeMilliseconds = 0;
  uint32_t kinds() const { return manifest ? manifest->kinds : 0; }
};

/// Returns what plugins are given about this process. The object lives as long as the process.
const tsr_host_info_t &pluginHost();

/// Returns the plugin of that name which serves `kind` (one TSR_PLUGIN_* bit) and loads it if necessary.
/// Opens only files of that name. With a `variant` of the plugin, the machine's hardware does not matter, and
/// the manifest must list it. On failure returns null with `error` filled; `path` is then the file that was
/// refused, if any. Thread-safe.
PluginRef loadPlugin(uint32_t kind, std::string_view name, PluginError &error, std::string &path,
                     std::string_view variant = "");
/// As above, with the error as text.
PluginRef loadPlugin(uint32_t kind, std::string_view name, std::string &why);

/// Returns whether a plugin of that name is inside libtessera.so, or was loaded from a file.
bool isPluginLoaded(std::string_view name);

/// Returns every plugin of `kinds`, examined up to its note and match and, with `probe`, its devices. The
/// order is: plugins inside libtessera.so, registered plugins, then files by directory and name. A directory
/// that cannot be used is returned as a candidate with an error. Probes each file at most once per process.
std::vector<Candidate> surveyPlugins(uint32_t kinds, bool probe);

/// Asks the backend of the file `c.path` for its devices in a separate process. Returns false without running
/// it if its path, its note or the contract refuses it. Stores no result and quarantines nothing.
[[nodiscard]] bool probeAnyway(const Candidate &c, ProbeResult &out);

/// Returns the names in TESSERA_BACKENDS_DISABLE, as they are written there: aliases count.
std::vector<std::string> disabledBackends();

/// Returns the names of the plugins that serve `kind` and pass every check before the probe, in the order of
/// surveyPlugins. It is used for errors that list what is available. Reads every note and loads nothing.
std::vector<std::string> usablePlugins(uint32_t kind);
/// Joins the names: "a, b, c".
std::string nameList(const std::vector<std::string> &names);

} // namespace tessera
