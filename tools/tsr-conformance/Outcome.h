// What came of a check.
#pragma once
#include "tools/tsr-conformance/Check.h"
#include <string>
#include <vector>

namespace tessera::kit {

enum class State : uint8_t {
  Passed,
  Failed,
  Skipped,         // cannot be made here
  Unsupported,     // the plugin has not the slot, or the expectations say so
  ExpectedFailure, // failed as the expectations say
  Stale            // passed although the expectations say that it fails
};
std::string_view nameOf(State);

struct Outcome {
  const Check *check = nullptr;
  State state = State::Failed;
  std::string expected, found, fix; // of failures
  std::string reason;               // of what is neither passed nor failed
  double milliseconds = 0;
  /// Does the run fail by it?
  bool isBad() const { return state == State::Failed || state == State::Stale; }
};

} // namespace tessera::kit
