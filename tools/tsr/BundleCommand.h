// The half of `tsr compile` that makes bundles, and what both halves share.
#pragma once
#include "tools/options/Options.h"
#include "tools/tsr/Report.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"

namespace tessera::cli {

/// Reads every --set or --dim through its check.
[[nodiscard]] MaybeError readNumbers(const std::vector<NamedValue> &given, const char *option,
                                     const Signature &signature, decltype(checkDim) check,
                                     std::vector<std::pair<std::string, int64_t>> &out);

/// Writes to the file, whole or not at all, or to standard output ("" and "-"). Returns the exit status.
int writeResult(const std::string &path, const std::string &text);

/// Compiles job.source for every --target; the exit status.
int compileBundle(Job job, const Arguments &args);

} // namespace tessera::cli
