// The report of the suites: one HTML file that needs nothing else.
#pragma once
#include "bench/Table.h"
#include <string>
#include <vector>

namespace tessera::bench {

/// Returns the page: for each table its notes and numbers, and drawings of the roofline, of the speed beside
/// the best peer and of how far the rounds differ. `heading` says when and where it was measured.
std::string htmlReport(const std::string &heading, const std::vector<Table> &tables);

} // namespace tessera::bench
