// Asking a plugin for its devices in a process of its own, so that what it breaks is not ours.
#pragma once
#include "core/plugin/PluginError.h"
#include <string>
#include <tessera/plugin.h>

namespace tessera {

/// What the prober writes to its descriptor 3: this, then nothing.
struct ProbeAnswer {
  static constexpr uint32_t kMagic = 0x50525354; // "TSRP"
  uint32_t magic = 0;
  int32_t status = 0; // of the plugin's probe
  tsr_probe_t found{};
  char text[1024] = {};   // why not
  int32_t failedStep = 0; // 0: the probe was called; else a refusal code, told by `text`
};

struct ProbeResult {
  PluginError error; // none: there is a device
  tsr_probe_t found{};
  double milliseconds = 0;
  bool isCrash = false; // worth a quarantine
};

inline constexpr int kProbeLimitMs = 2000;

/// Runs `prober` on the plugin's file; waits at most kProbeLimitMs, then kills it with what it started. Its
/// output goes nowhere. Thread-safe.
ProbeResult probeApart(const std::string &prober, const std::string &path);

/// The prober beside libtessera.so, or "" when it is not installed.
std::string proberPath();

/// Asks a plugin that is in this process; it has a probe.
ProbeResult probeHere(const tsr_plugin_info_t &info);

/// A probe's outcome in words and numbers, whoever asked.
PluginError judgeProbe(int32_t status, const tsr_probe_t &found, const std::string &text);

} // namespace tessera
