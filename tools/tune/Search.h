// Which configurations are measured next. A search sees estimates and results, and nothing of the machine.
#pragma once
#include "tools/tune/Verdict.h"
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::tune {

/// What is known of a configuration.
struct Standing {
  double predictedNs = -1;     // -1: there is no estimate
  bool isOut = false;          // it is illegal, or its results are wrong
  std::vector<Sample> samples; // beside the default
};

struct Trial {
  size_t configuration = 0;
  size_t pairs = 1; // to measure
};

class TuneSearch {
public:
  virtual ~TuneSearch() = default;
  /// Returns the next batch; empty: the search has ended. `standings[0]` is the default, which every pair
  /// measures and no trial names. Called again once the batch has been measured.
  virtual std::vector<Trial> next(std::span<const Standing> standings) = 0;
};

/// Takes the best `ranked` configurations by estimate and `random` others, and brings them to 1, 4 and 13
/// pairs. The slower half leaves after each round. `seed` chooses the others.
struct HalvingOptions {
  size_t ranked = 24, random = 8;
  uint64_t seed = 0;
};
std::unique_ptr<TuneSearch> successiveHalving(HalvingOptions = {});

} // namespace tessera::tune
