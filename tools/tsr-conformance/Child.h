// One process of checks: whatever the plugin does to its process happens there. Parent and child are the same
// program; the child writes a line of JSON to a file as each check begins and ends.
#pragma once
#include "tools/tsr-conformance/Outcome.h"
#include "tools/tsr-conformance/Subject.h"
#include <map>

namespace tessera::kit {

struct ChildOptions {
  SubjectOptions subject;
  std::vector<std::string> launcher; // "mpirun", "-n", "3": starts the child once per rank
  double patience = 1;               // limits are multiplied by this
  bool isVerbose = false;            // the plugin's output is shown
};

/// What one child came to: outcomes in order, complete up to and including the check in which it died.
struct Batch {
  std::vector<Outcome> outcomes;
  std::map<std::string, std::string> facts;
};

/// Runs the checks in a child, or one child per rank, as far as it lives.
Batch runChild(const ChildOptions &, std::span<const Check *const> checks);

/// The child's side: writes its lines into `directory` and does not return where the plugin ends it.
int childMain(const SubjectOptions &, const std::string &directory, const std::vector<std::string> &ids);

} // namespace tessera::kit
