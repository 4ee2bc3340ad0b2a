// Runs checks in a process of their own, which contains whatever the plugin does to its process. Parent and
// child are the same program. The child writes a line of JSON to a file as each check begins and ends.
#pragma once
#include "tools/tsr-conformance/Outcome.h"
#include "tools/tsr-conformance/Subject.h"
#include <map>

namespace tessera::kit {

struct ChildOptions {
  SubjectOptions subject;
  std::vector<std::string> launcher; // "mpirun", "-n", "3": starts the child once per rank
  double patience = 1;               // factor for the time limits
  bool isVerbose = false;            // the plugin's output is shown
};

/// The results of one child: outcomes in order, complete up to and including the check in which it died.
struct Batch {
  std::vector<Outcome> outcomes;
  std::map<std::string, std::string> facts;
};

/// Runs the checks in a child, or in one child per rank, until the child ends or dies.
Batch runChild(const ChildOptions &, std::span<const Check *const> checks);

/// Runs the child's side: writes its lines into `directory`. Does not return when the plugin ends the
/// process.
int childMain(const SubjectOptions &, const std::string &directory, const std::vector<std::string> &ids);

} // namespace tessera::kit
