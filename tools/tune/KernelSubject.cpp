#include "tools/tune/KernelSubject.h"
#include "core/cache/CachedCompiler.h"
#include "tools/tsr/FillArguments.h"
#include "tools/tune/Compare.h"
#include <algorithm>
#include <cctype>
#include <chrono>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr double kTimingSeconds = 300e-6; // shorter launches are repeated
constexpr int64_t kMostRepetitions = 10'000;
constexpr int kSlices = 3; // of one sample; the least time of each counts

/// Does Tile IR have an operation that may combine several elements? Loops may add to what they carry or to
/// memory.
bool combinesElements(std::string_view tileIr) {
  constexpr std::string_view operations[] = {"tile.reduce", "tile.scan", "tile.mma", "tile.group_reduce",
                                             "tile.atomic", "scf.for",   "scf.while"};
  return std::ranges::any_of(operations, [&](std::string_view op) { return tileIr.find(op) != tileIr.npos; });
}

/// Is `name` a word of the expression?
bool names(std::string_view expression, std::string_view name) {
  auto isWord = [&](size_t at) {
    return at < expression.size() &&
           (std::isalnum(static_cast<unsigned char>(expression[at])) || expression[at] == '_');
  };
  for (size_t at = 0; (at = expression.find(name, at)) != expression.npos; at += name.size())
    if (!isWord(at - 1) && !isWord(at + name.size())) return true;
  return false;
}

bool names(const SignatureParam &param, std::string_view name) {
  return std::ranges::any_of(param.dims, [&](const std::string &dim) { return names(dim, name); });
}

} // namespace

KernelSubject::KernelSubject(cli::Session &session, std::string_view source, CompileOptions options,
                             const Signature &signature, cli::Binding &binding,
                             const std::vector<Configuration> &configurations, bool isExact,
                             std::function<bool()> isStopped)
    : session_(session), source_(source), options_(std::move(options)), signature_(signature),
      binding_(binding), configurations_(configurations), isExact_(isExact), isStopped_(std::move(isStopped)),
      kernels_(configurations.size()) {}

MaybeError KernelSubject::place() {
  if (!cli::fillArguments(binding_)) return Error{"E_OUT_OF_MEMORY", "no memory for the arguments", ""};
  if (auto f = session_.place(binding_)) return f->error;
  return std::nullopt;
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
  std::string tileIr;
  sums_ = cachedCompiler()->emit(source_, options, Emit::Tile, tileIr, diags) != CompileStatus::Ok ||
          combinesElements(tileIr);
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

/// How many terms an element of this result may be a sum of: the elements of one argument along the dims that
/// the result lacks. Softmax and scans also sum along a dim of the result.
double KernelSubject::termsOf(size_t param) const {
  if (!sums_) return 1;
  double most = 1;
  for (int64_t extent : binding_.params[param].shape)
    most = std::max(most, double(extent));
  for (const SignatureParam &other : signature_.params) {
    double terms = 1;
    for (const auto &[name, value] : binding_.dims)
      if (names(other, name) && !names(signature_.params[param], name)) terms *= double(value);
    most = std::max(most, terms);
  }
  return most;
}

MaybeError KernelSubject::check(size_t configuration) {
  std::vector<npy::Bytes> results;
  if (MaybeError error = run(configuration, results)) return error;
  for (size_t i = 0; i < results.size(); ++i)
    if (const std::string text = differences(binding_.params[i].dtype, expected_[i].span(), results[i].span(),
                                             isExact_, termsOf(i));
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

Expected<Sample> KernelSubject::measure(size_t configuration) {
  if (isStopped_()) return Error{"E_TUNE_STOPPED", "the tuning was stopped", ""};
  if (auto f = session_.restore(binding_)) return f->error;
  Sample out{1e300, 1e300};
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

} // namespace tessera::tune
