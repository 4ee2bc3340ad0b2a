// The plugins this process has: those inside libtessera.so, those the program registered (Registered.h), and
// those loaded from the plugin directories.
//
// A plugin goes through seven stages, each of which may refuse it with its own code (PluginError.h): its
// directory is listed, its file's owner and mode are checked, its note is read, the note is matched with this
// runtime and machine, in automatic selection a process of its own probes it, it is loaded, it is queried and
// held against its note. Nothing of it runs before the probe. What is loaded stays.
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

/// One plugin that is loaded and checked.
struct Plugin {
  std::string name, version, path; // path: "" unless it came from a file
  Origin origin = Origin::File;
  tsr_plugin_info_t info{}; // complete: what the plugin's writer did not know is zero
  mutable std::atomic<int64_t> objects{
      0}; // contexts, communicators and mappers alive; none when shutdown is called
};

/// Who has one uses the plugin, which is not unregistered meanwhile. All but those the program registered are
/// here to stay.
using PluginRef = std::shared_ptr<const Plugin>;

/// What is known of a file in a plugin directory, or of a plugin that is in the process anyway.
struct Candidate {
  std::string name, path; // path: "" unless it is a file
  Origin origin = Origin::File;
  std::optional<Manifest> manifest; // once the note has been read
  PluginError error;                // why it cannot be used
  bool isLoaded = false;
  std::optional<tsr_probe_t> found; // once a probe has answered well
  double noteMicroseconds = 0, probeMilliseconds = 0;
  uint32_t kinds() const { return manifest ? manifest->kinds : 0; }
};

/// What plugins are told about this process. Stands for ever.
const tsr_host_info_t &pluginHost();

/// The plugin of that name which serves `kind` (one TSR_PLUGIN_* bit), loaded if it must be; opens no file of
/// another name. Null with `error` and `path` filled. Thread-safe.
PluginRef loadPlugin(uint32_t kind, std::string_view name, PluginError &error, std::string &path);
/// The same with the error as a text.
PluginRef loadPlugin(uint32_t kind, std::string_view name, std::string &why);

/// Is one of that name inside libtessera.so, or loaded from a file?
bool isPluginLoaded(std::string_view name);

/// Every plugin there is of `kinds`, examined up to its note and match and, with `probe`, its devices; those
/// inside libtessera.so first, then those registered, then by directory and name. Probes each file once in
/// the life of the process.
std::vector<Candidate> surveyPlugins(uint32_t kinds, bool probe);

/// Asks the backend `c` of a file for its devices, in a process of its own, unless its path, its note or the
/// contract refuse it: then nothing of it may run. False if so. Keeps nothing, quarantines nothing.
[[nodiscard]] bool probeAnyway(const Candidate &c, ProbeResult &out);

/// Names of the plugins that serve `kind` and that nothing refuses before its devices are asked for, in the
/// order of surveyPlugins: for the error that says what there is. Reads every note, loads nothing.
std::vector<std::string> usablePlugins(uint32_t kind);
/// "a, b, c"
std::string nameList(const std::vector<std::string> &names);

} // namespace tessera
