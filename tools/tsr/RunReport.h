// What `tsr run --verbose`, `--time` and `--json` say.
#pragma once
#include "tools/tsr/Json.h"
#include "tools/tsr/Session.h"

namespace tessera::cli {

/// One run: how long compiling and the first launch took, and the repeated launches behind it.
struct RunTimes {
  double compileSeconds = 0, runSeconds = 0;
  std::vector<double> repeats; // of --time, in seconds, in any order
};

/// Backend, profile, grid or steps, tunables, specialised dims, fallbacks and times, a line each, from the
/// kernel's metadata.
std::string describeRun(const Session &, const Binding &, const RunTimes &);

/// "saxpy: median 1.23 ms, min 1.20 ms (20 runs), 9.8 GB/s of arguments". The rate counts every tensor once
/// for each direction the kernel uses it in: traffic that cannot be avoided when nothing stays in a cache.
std::string describeTiming(const std::string &kernel, const Binding &, const RunTimes &);

/// Both as a document; `timing` is there when there were repeats.
Json runDocument(const Session &, const Binding &, const RunTimes &);

} // namespace tessera::cli
