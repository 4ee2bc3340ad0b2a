// Asks a plugin for its devices in a separate process, so that a crash or a corruption stays there.
#pragma once
#include "core/plugin/PluginError.h"
#include <string>
#include <tessera/plugin.h>

namespace tessera {

/// What tessera-probe writes to file descriptor 3 before it exits.
struct ProbeAnswer {
  static constexpr uint32_t kMagic = 0x50525354; // "TSRP"
  uint32_t magic = 0;
  int32_t status = 0; // what the plugin's probe returned
  tsr_probe_t found{};
  char text[1024] = {};   // why the probe failed
  int32_t failedStep = 0; // 0: the probe was called; else a refusal code, explained in `text`
};

struct ProbeResult {
  PluginError error; // none if there is a device
  tsr_probe_t found{};
  double milliseconds = 0;
  bool isCrash = false; // if true, the plugin is quarantined
};

inline constexpr int kProbeLimitMs = 2000;

/// Runs `prober` on the plugin's file. Waits at most kProbeLimitMs, then kills it with the processes it
/// started. Its output is discarded. Thread-safe.
ProbeResult probeApart(const std::string &prober, const std::string &path);

/// Returns the path of tessera-probe in the plugin directory beside libtessera.so, or "" if it is not
/// installed.
std::string proberPath();

/// Asks a plugin in this process. `info.probe` must be set.
ProbeResult probeHere(const tsr_plugin_info_t &info);

/// Converts a probe's outcome to an error, or none. Used for both kinds of probe.
PluginError judgeProbe(int32_t status, const tsr_probe_t &found, const std::string &text);

} // namespace tessera
