// A table of results, printed as text and recorded as Markdown.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

/// The results of a suite's case.
struct CaseResult {
  std::string suite, family, name;
  double operations = 0, bytes = 0, limit = 0; // limit: seconds that no program can undercut; 0: unknown
  std::vector<std::string> contenders;         // generated code first
  std::vector<std::vector<double>> samples;    // seconds: each contender's rounds
  bool ok = true;                              // no result was wrong but those of libraries
  std::vector<std::string> wrong = {}; // contenders whose results were not: nothing is compared with them

  double best(size_t contender) const;
  bool isWrong(const std::string &contender) const;
  size_t bestPeer() const;    // of those with right results; 0: there is none
  double speedOfPeer() const; // the best peer's time divided by ours
  double ofLimit() const { return limit / best(0); }
  double score() const;
};

struct Table {
  std::string title;
  std::vector<std::string> notes; // how it was measured, one sentence each
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool ok = true;                                      // false: a result was wrong
  std::vector<CaseResult> cases = {};                  // of a suite
  std::vector<std::pair<double, double>> streams = {}; // of a suite: (bytes, bytes per second)
  double peak = 0;                                     // of a suite: f32 operations per second

  std::string text() const;
  std::string markdown() const;
};

} // namespace tessera::bench
