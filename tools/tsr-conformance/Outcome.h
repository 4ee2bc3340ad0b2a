// The outcome of a check.
#pragma once
#include "tools/tsr-conformance/Check.h"
#include <string>
#include <vector>

namespace tessera::kit {

enum class State : uint8_t {
  Passed,
  Failed,
  Skipped,         // cannot be made in this environment
  Unsupported,     // the plugin does not have the slot, or the expectations list it
  ExpectedFailure, // failed as the expectations predict
  Stale            // passed although the expectations predict a failure
};
std::string_view nameOf(State);

struct Outcome {
  const Check *check = nullptr;
  State state = State::Failed;
  std::string expected, found, fix; // of failures
  std::string reason;               // of the other states except Passed
  double milliseconds = 0;
  /// Returns whether this outcome makes the run fail.
  bool isBad() const { return state == State::Failed || state == State::Stale; }
};

} // namespace tessera::kit
