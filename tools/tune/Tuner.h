// Finds the fastest configuration of one kernel for one set of sizes. It knows neither how configurations are
// compiled nor what a clock is: the subject does.
#pragma once
#include "core/support/Expected.h"
#include "tools/tune/Search.h"
#include "tools/tune/Space.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

/// The kernel that is tuned. Configurations are named by their index.
class TuneSubject {
public:
  virtual ~TuneSubject() = default;
  /// Compiles a configuration. An error: it is illegal.
  virtual MaybeError prepare(size_t configuration) = 0;
  /// Compares the results of a configuration with the default's. An error: they differ.
  virtual MaybeError check(size_t configuration) = 0;
  /// Measures the default and the configuration, one right after the other.
  virtual Expected<Sample> measure(size_t configuration) = 0;
  /// Seconds since some fixed time.
  virtual double now() = 0;
};

/// Is called with each result as soon as it is there.
class TuneObserver {
public:
  virtual ~TuneObserver() = default;
  /// `confirms`: the pairs were measured after the configuration had been chosen by others.
  virtual MaybeError onTrial(size_t configuration, const std::vector<Sample> &, bool confirms) = 0;
  virtual MaybeError onWrong(size_t configuration, const Error &) = 0;
  virtual void onIllegal(size_t configuration, const Error &) = 0;
  /// `seconds` have passed; `best` is the configuration with the largest gain so far, 0 the default.
  virtual void onProgress(size_t done, size_t all, size_t best, double gain, double seconds) = 0;
};

struct TuneResult {
  std::vector<Standing> standings;
  size_t winner = 0; // 0: the default stays
  Verdict verdict;   // of the fastest: of the pairs that confirm it, if it seemed faster than the default
  size_t fastest = 0;
  size_t illegal = 0, wrong = 0;
  bool ranOutOfTime = false;
};

/// Tunes until the search ends or `budgetSeconds` have passed. The fastest configuration replaces the default
/// if pairs that are measured after its choice confirm it: of many, one always looks faster than it is.
/// E_TUNE_EMPTY: every configuration is illegal; the message has each reason. E_TUNE_DEFAULT: only the
/// default is. Errors of `measure` and of the observer end the tuning.
Expected<TuneResult> tune(const std::vector<Configuration> &, TuneSearch &, TuneSubject &, TuneObserver &,
                          double budgetSeconds);

} // namespace tessera::tune
