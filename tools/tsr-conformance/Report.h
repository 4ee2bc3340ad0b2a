// Prints a run as a table or as a JSON document (docs/extending/conformance.md lists its keys).
#pragma once
#include "tools/tsr-conformance/Runner.h"
#include <nlohmann/json.hpp>

namespace tessera::kit {

/// Prints a line for each outcome; for a failure also what was expected, what was found and how to fix it.
/// Consecutive checks skipped for the same reason share a line.
class Table {
public:
  Table(bool isColoured, bool isVerbose) : isColoured_(isColoured), isVerbose_(isVerbose) {}
  void add(const Outcome &);
  void finish();

private:
  void print(const Outcome &, const std::string &id);
  const bool isColoured_, isVerbose_;
  std::vector<Outcome> skipped_;
};
void printSummary(const Run &, bool isColoured);

nlohmann::ordered_json reportOf(const Run &, const std::string &plugin);

/// /where/libtessera-x.so -> /where/libtessera-x.conformance.json
std::string reportPathOf(const std::string &plugin);

} // namespace tessera::kit
