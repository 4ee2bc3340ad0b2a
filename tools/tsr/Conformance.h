// What tsr-conformance --report has left beside a plugin.
#pragma once
#include "tools/tsr/Json.h"
#include <string>

namespace tessera::cli {

/// Adds `conformance` to a plugin's row of the load report when its file has such a report beside it.
void addConformance(Json &row);

/// The same as a line: "passed 101, failed 0, 2026-11-22T03:00:00Z".
std::string conformanceText(const Json &conformance);

} // namespace tessera::cli
