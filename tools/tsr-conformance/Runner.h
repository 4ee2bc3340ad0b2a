// Decides which checks run, in which processes, and what prevents the others.
#pragma once
#include "tools/tsr-conformance/Child.h"
#include "tools/tsr-conformance/Expectations.h"
#include <functional>

namespace tessera::kit {

struct Run {
  std::vector<Outcome> outcomes; // of the requested checks, in their order
  // checks that concern the plugin's kinds, whether requested or not
  size_t total = 0;
  std::map<std::string, std::string> facts; // name, version, kinds, devices, no_device, driver ...
  bool isGood() const;
};

/// Runs every check that satisfies `isWanted` and concerns the plugin's kinds. Calls `progress` with each
/// outcome.
Run runAll(const ChildOptions &, const Expectations &, const std::function<bool(const Check &)> &isWanted,
           const std::function<void(const Outcome &)> &progress);

} // namespace tessera::kit
