// The output of `tsr run --verbose`, `--time` and `--json`.
#pragma once
#include "tools/tsr/Json.h"
#include "tools/tsr/Session.h"

namespace tessera::cli {

/// The times of one run: compiling, the first launch, and the repeated launches after it.
struct RunTimes {
  double compileSeconds = 0, runSeconds = 0;
  std::vector<double> repeats; // of --time, in seconds, in any order
  std::string tunedBy;         // the look-up file that chose the tunables, and its choice; empty: none did
  std::vector<std::pair<std::string, int64_t>> tuned = {};
};

/// What an emulated device logged about the launches of the first run, in order.
using Executed = std::vector<std::string>;

/// One launch of a run.
struct LaunchInfo {
  std::string kernel, variant; // "f.g0", or a library's function; "": it has no variants
  std::vector<std::pair<std::string, int64_t>> dims;
  double bytes = -1; // of its tensors, once for each direction; -1: unknown
};

/// Returns the launches of a run in their order: the steps of a function, or the kernel. E_INTERNAL: the
/// metadata of what was loaded cannot be read.
Expected<std::vector<LaunchInfo>> launchesOf(const Session &, const Binding &);

/// Returns backend, profile, grid or steps, tunables, specialised dims, fallbacks and times, one line each,
/// from the kernel's metadata, and what was executed.
std::string describeRun(const Session &, const Binding &, const RunTimes &, const Executed &);

/// Returns "saxpy: median 1.23 ms, min 1.20 ms (20 runs), 9.8 GB/s of arguments". The rate counts every
/// tensor once for each direction in which the kernel uses it: the unavoidable traffic when nothing stays in
/// a cache.
std::string describeTiming(const std::string &kernel, const Binding &, const RunTimes &);

/// Returns both as a document. It has `timing` when there were repeats.
Json runDocument(const Session &, const Binding &, const RunTimes &);

} // namespace tessera::cli
