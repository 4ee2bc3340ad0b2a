// Decisions as a file, which the logging mapper writes and the replay mapper reads.
//
//   decisions:
//     - {call: choose_variant, about: "op=matmul M=96 N=64 K=?", from: [tile, blas], choice: blas,
//        predicted_ns: 1500}
//
// The file is YAML with one entry per line, in the order of the questions. `from` is for readers only. The
// functions of the static library throw nothing but std::bad_alloc.
#pragma once
#include "core/support/Expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mapping {

struct LoggedDecision {
  std::string call, about;
  std::vector<std::string> legal;
  std::string choice; // "": nothing was chosen
  double predictedNs = -1;
};

inline constexpr size_t kMaxDecisionBytes = 64 << 20;

std::string writeDecisions(const std::vector<LoggedDecision> &);
/// The same in pieces, for output that is written as it comes: first the header, then each decision.
std::string decisionsHeader();
std::string writeDecision(const LoggedDecision &);

/// The error's message begins with "line N: ".
Expected<std::vector<LoggedDecision>> readDecisions(std::string_view text);

} // namespace tessera::mapping
