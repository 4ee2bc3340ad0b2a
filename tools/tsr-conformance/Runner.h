// Decides which checks are run, in which processes, and what stands in the way of the others.
#pragma once
#include "tools/tsr-conformance/Child.h"
#include "tools/tsr-conformance/Expectations.h"
#include <functional>

namespace tessera::kit {

struct Run {
  std::vector<Outcome> outcomes;            // of the checks asked for, in their order
  size_t total = 0;                         // checks that concern the plugin's kinds, asked for or not
  std::map<std::string, std::string> facts; // name, version, kinds, devices, no_device, driver ...
  bool isGood() const;
};

/// Runs every check that `isWanted` and concerns the plugin's kinds. `progress` is told each outcome.
Run runAll(const ChildOptions &, const Expectations &, const std::function<bool(const Check &)> &isWanted,
           const std::function<void(const Outcome &)> &progress);

} // namespace tessera::kit
