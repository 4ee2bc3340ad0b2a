#include "tools/tsr/KernelSubject.h"
#include "core/cache/CachedCompiler.h"
#include "tools/tsr/FillArguments.h"
#include "tools/tune/Compare.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace tessera::cli {
namespace {

constexpr double kTimingSeconds = 300e-6; // shorter launches are repeated
constexpr int64_t kMostRepetitions = 10'000;
constexpr int kSlices = 3; // of one sample; the least time of each counts

} // namespace

KernelSubject::KernelSubject(Session &session, std::string_view source, CompileOptions options,
                             Binding &binding, const std::vector<tune::Configuration> &configurations,
                             bool isExact)
    : session_(session), source_(source), options_(std::move(options)), binding_(binding),
      configurations_(configurations), isExact_(isExact), kernels_(configurations.size()) {}

MaybeFailure KernelSubject::place() {
  if (!fillArguments(binding_)) return Failure{{"E_OUT_OF_MEMORY", "no memory for the arguments", ""}};
  return session_.place(binding_);
}

MaybeError KernelSubject::prepare(size_t configuration) {
  CompileOptions options = options_;
  options.tunables = configurations_[configuration].values;
  std::string bundle;
  std::vector<Diagnostic> diags;
  if (cachedCompiler()->compile(source_, options, bundle, diags) != CompileStatus::Ok) {
    for (const Diagnostic &d : diags)
      if (d.severity == Diagnostic::Severity::Error)
        return Error{d.code, fmt::format("[{}] {}", d.code, d.message), d.hint};
    return Error{"E_INTERNAL", "the compiler failed without saying why", ""};
  }
  if (auto f = session_.load(options.fileName, bundle, options.kernels.at(0))) return f->error;
  kernels_[configuration] = session_.kernel();
  if (configuration != 0) return std::nullopt;
  if (MaybeError error = run(0, expected_)) return error;
  Expected<double> seconds = time(0); // also warms up
  if (!seconds) return seconds.error();
  repetitions_ =
      std::clamp<int64_t>(int64_t(kTimingSeconds / std::max(*seconds, 1e-9)) + 1, 1, kMostRepetitions);
  return std::nullopt;
}

/// Runs once on the initial values and fetches what was written.
MaybeError KernelSubject::run(size_t configuration, std::vector<npy::Bytes> &results) {
  session_.use(kernels_[configuration]);
  if (auto f = session_.restore(binding_)) return f->error;
  if (auto f = session_.run()) return f->error;
  results.resize(binding_.params.size());
  for (size_t i = 0; i < binding_.params.size(); ++i)
    if (binding_.params[i].isTensor && binding_.params[i].writes)
      if (auto f = session_.fetch(binding_, i, results[i])) return f->error;
  return std::nullopt;
}

MaybeError KernelSubject::check(size_t configuration) {
  std::vector<npy::Bytes> results;
  if (MaybeError error = run(configuration, results)) return error;
  int64_t terms = 1;
  for (const auto &[name, value] : binding_.dims)
    terms = std::max(terms, value);
  for (size_t i = 0; i < results.size(); ++i)
    if (const std::string text = tune::differences(binding_.params[i].dtype, expected_[i].span(),
                                                   results[i].span(), isExact_, double(terms));
        !text.empty())
      return Error{"E_TUNE_WRONG", fmt::format("{}: {}", binding_.params[i].name, text), ""};
  return std::nullopt;
}

/// Seconds of one launch.
Expected<double> KernelSubject::time(size_t configuration) {
  session_.use(kernels_[configuration]);
  const double start = now();
  for (int64_t i = 0; i < repetitions_; ++i)
    if (auto f = session_.run()) return f->error;
  return (now() - start) / double(repetitions_);
}

Expected<tune::Sample> KernelSubject::measure(size_t configuration) {
  if (auto f = session_.restore(binding_)) return f->error;
  tune::Sample out{1e300, 1e300};
  for (int slice = 0; slice < kSlices; ++slice) {
    isBaseFirst_ = !isBaseFirst_;
    for (const bool isBase : {isBaseFirst_, !isBaseFirst_}) {
      Expected<double> seconds = time(isBase ? 0 : configuration);
      if (!seconds) return seconds.error();
      double &least = isBase ? out.baseNs : out.ns;
      least = std::min(least, *seconds * 1e9);
    }
  }
  return out;
}

double KernelSubject::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace tessera::cli
