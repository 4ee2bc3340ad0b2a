// The part of `tsr compile` that makes bundles, and what both parts share.
#pragma once
#include "tools/options/Options.h"
#include "tools/tsr/Report.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"

namespace tessera::cli {

/// Reads every --set or --dim with `check`.
[[nodiscard]] MaybeError readNumbers(const std::vector<NamedValue> &given, const char *option,
                                     const Signature &signature, decltype(checkDim) check,
                                     std::vector<std::pair<std::string, int64_t>> &out);

/// Writes to the file, either completely or not at all, or to standard output ("" and "-"). Returns the exit
/// status.
int writeResult(const std::string &path, const std::string &text);

/// Compiles job.source for every --target. Returns the exit status.
int compileBundle(Job job, const Arguments &args);

} // namespace tessera::cli
