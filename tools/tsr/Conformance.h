// Reads the report that tsr-conformance --report wrote next to a plugin.
#pragma once
#include "tools/tsr/Json.h"
#include <string>

namespace tessera::cli {

/// Adds `conformance` to a plugin's row of the load report when there is such a report next to its file.
void addConformance(Json &row);

/// Returns the same as one line: "passed 101, failed 0, 2026-11-22T03:00:00Z".
std::string conformanceText(const Json &conformance);

} // namespace tessera::cli
