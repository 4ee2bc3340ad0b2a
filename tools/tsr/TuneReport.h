// The output of `tsr tune`.
#pragma once
#include "tools/tune/TuneRun.h"

namespace tessera::cli {

/// A few lines about one set of sizes.
std::string describeTuning(const tune::SizeResult &);
/// A table of a database's choices. `compiler` is the build id whose choices apply.
std::string describeChoices(const std::vector<tune::TuneDatabase::Choice> &, const std::string &compiler);

} // namespace tessera::cli
