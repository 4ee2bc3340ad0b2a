// Whether measurements show that a configuration is faster than the default.
#pragma once
#include <cstddef>
#include <vector>

namespace tessera::tune {

/// One paired measurement: the default and a configuration, one right after the other.
struct Sample {
  double baseNs = 0, ns = 0;
};

constexpr size_t kLeastPairs = 9, kConfirmingPairs = 21;
constexpr double kLeastGain = 1.03, kLeastWins = 0.75;

struct Verdict {
  size_t pairs = 0;
  double gain = 1; // median of baseNs / ns
  double wins = 0; // share of the pairs in which the configuration was faster
  /// A smaller gain, or one that many pairs contradict, may be noise.
  bool isSignificant() const { return pairs >= kLeastPairs && gain >= kLeastGain && wins >= kLeastWins; }
};

/// The order of the samples does not matter.
Verdict judge(const std::vector<Sample> &);

} // namespace tessera::tune
