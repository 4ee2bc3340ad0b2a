// Results of tuning as documents: of `tsr tune --json` and of the Python package.
#pragma once
#include "tools/tsr/Json.h"
#include "tools/tune/TuneRun.h"

namespace tessera::tune {

/// What was measured for one set of sizes, what was chosen, and what took no part and why.
cli::Json documentOf(const SizeResult &);
/// A database's choices. `compiler` is the build id whose choices apply.
cli::Json documentOf(const std::vector<TuneDatabase::Choice> &, const std::string &compiler);

} // namespace tessera::tune
