// What `tsr run --verbose` and `--time` say.
#pragma once
#include "tools/tsr/Session.h"

namespace tessera::cli {

/// Backend, profile, grid, tunables, specialised dims, fallbacks and times, a line each, from the kernel's
/// metadata.
std::string describeRun(const Session &, const Binding &, double compileSeconds, double runSeconds);

/// "saxpy: median 1.23 ms, min 1.20 ms (20 runs), 9.8 GB/s of arguments". The rate counts every tensor once
/// for each direction the kernel uses it in: traffic that cannot be avoided when nothing stays in a cache.
std::string describeTiming(const std::string &kernel, const Binding &, std::vector<double> seconds);

} // namespace tessera::cli
