#include "tools/tune/TuneRun.h"
#include "core/bundle/Hash.h"
#include "core/cache/CachedCompiler.h"
#include "core/config/Config.h"
#include "core/launch/HostMachine.h"
#include "core/service/BuildId.h"
#include "core/support/HostCpu.h"
#include "tools/tune/Cost.h"
#include "tools/tune/ExportRows.h"
#include "tools/tune/KernelSubject.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::tune {
namespace {

using Clock = std::chrono::steady_clock;

/// A name for what this run measures that no other run has.
std::string runId() {
  char host[256] = {};
  (void)gethostname(host, sizeof host - 1);
  return fmt::format("{}-{}-{}", host, getpid(), std::chrono::system_clock::now().time_since_epoch().count());
}

/// Identifies the code that is measured: the whole source, because a kernel may call other functions of it,
/// and what the caller supplies for it.
std::string bodyOf(const TuneRequest &request) {
  std::string text = request.source;
  for (const auto &list : {request.options.supplied.constants, request.options.supplied.types})
    for (const auto &[name, value] : list)
      text += fmt::format("\n{} = {}", name, value);
  return hexadecimal(hash128(text));
}

/// Stores results in the database as they come, and reports the progress.
class Recorder final : public TuneObserver {
public:
  Recorder(TuneDatabase &database, const TuneKey &key, SizeResult &result, TuneListener &listener,
           double budget)
      : database_(database), key_(key), result_(result), listener_(listener), budget_(budget) {}

  MaybeError onTrial(size_t configuration, const std::vector<Sample> &samples, bool confirms) override {
    return database_.addSamples(key_, text(configuration), samples, confirms);
  }
  MaybeError onWrong(size_t configuration, const Error &error) override {
    result_.wrong.emplace_back(text(configuration), error.message);
    return database_.addFault(key_, text(configuration), error.message);
  }
  void onIllegal(size_t configuration, const Error &error) override {
    result_.illegal.emplace_back(text(configuration), error.message);
  }
  void onProgress(size_t done, size_t all, size_t best, double gain, double seconds) override {
    listener_.onProgress({result_.kernel, result_.dims, done, all, best ? text(best) : "", best ? gain : 1,
                          std::max(0.0, budget_ - seconds)});
  }

private:
  std::string text(size_t configuration) const {
    return textOf(result_.configurations[configuration].values);
  }

  TuneDatabase &database_;
  const TuneKey &key_;
  SizeResult &result_;
  TuneListener &listener_;
  double budget_;
};

/// Configurations are measured on the CPU. Refuses a backend whose choices the user would not get; the time
/// that an emulated device takes says nothing of the device.
MaybeError refuseOtherBackends(const std::string &given) {
  const Setting environment = given.empty() ? setting("TESSERA_BACKEND") : Setting{given, "--backend"};
  if (environment.value.empty() || environment.value == "cpu") return std::nullopt;
  return Error{"E_TUNE_BACKEND",
               fmt::format("{} names backend {}; configurations are measured on the CPU alone",
                           environment.from, environment.value),
               "--set NAME=VALUE of tsr run and tsr compile chooses a tunable for other devices"};
}

class Run {
public:
  Run(const TuneRequest &request, const Signature &signature, TuneListener &listener)
      : request_(request), signature_(signature), listener_(listener) {}

  TuneOutcome run() {
    TuneOutcome out;
    out.errors = begin();
    if (!out.errors.empty()) return out;
    for (size_t i = 0; out.errors.empty() && i < request_.sizes.size(); ++i)
      out.errors = runOne(request_.sizes[i], request_.budget / double(request_.sizes.size()));
    // The sizes before one that fails keep their choices.
    if (MaybeError error = database_->decide()) return {0, {*error}};
    if (MaybeError error = exportRows(*database_, request_.lookUp, out.choices)) out.errors.push_back(*error);
    return out;
  }

private:
  /// Checks the space and opens the database.
  cli::Errors begin() {
    if (MaybeError error = refuseOtherBackends(request_.backend)) return {*error};
    const NumericsPermissions permits = *request_.options.permits;
    if (permits.frozenTunables)
      return {{"E_TUNE_EMPTY",
               fmt::format("numerics profile {} freezes tunables: each keeps its first value",
                           request_.options.numerics),
               ""}};
    Expected<std::vector<Configuration>> space = configurationsOf(signature_);
    if (!space) return {space.error()};
    space_ = std::move(*space);
    // Tunables may change the order of a sum, so a profile that fixes bits wants equal ones, for these sizes.
    isExact_ = !permits.unorderedAtomics;
    Expected<TuneDatabase> database = TuneDatabase::open(request_.database);
    if (!database) return {database.error()};
    database_ = std::move(*database);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (MaybeError error =
            database_->beginRun(runId(), hostCpuModel(), sysconf(_SC_NPROCESSORS_ONLN),
                                std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()))
      return {*error};
    listener_.onBegin();
    return {};
  }

  cli::Errors runOne(const std::vector<cli::NamedValue> &sizes, double budget) {
    const auto start = Clock::now();
    auto after = [&](double seconds) {
      return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    };
    cli::Request arguments = request_.arguments;
    arguments.dims = sizes;
    arguments.fills = true;
    cli::Binding binding;
    if (cli::Errors errors = cli::bind(signature_, arguments, binding); !errors.empty()) return errors;
    cli::Session session;
    if (auto f = session.open("cpu")) return {f->error};
    CompileOptions options = request_.options;
    options.kernels = {signature_.kernel};
    options.dims = binding.dims;
    options.exactDims = true;
    listener_.onSizes(options);
    SizeResult found;
    found.kernel = signature_.kernel;
    found.dims = binding.dims;
    found.configurations = space_;
    listener_.onProgress({found.kernel, found.dims, 0, 0, "", 1, budget});
    // A large space must leave time to measure.
    predict(options, binding, session.device().compute_units, after(budget / 2), found.configurations);
    budget = std::chrono::duration<double>(after(budget) - Clock::now()).count();
    const TuneKey key{tunedKernelOf(signature_), tunedArchOf("cpu"), options.numerics, TESSERA_BUILD_ID,
                      sizeClassOf(binding.dims, isExact_)};
    if (MaybeError error = database_->beginKey(key, bodyOf(request_))) return {*error};
    KernelSubject subject(session, request_.source, options, signature_, binding, found.configurations,
                          isExact_, [this] { return listener_.isStopped(); });
    if (MaybeError error = subject.place()) return {*error};
    Recorder recorder(*database_, key, found, listener_, budget);
    const auto search = successiveHalving({.seed = request_.seed});
    Expected<TuneResult> result = tune(found.configurations, *search, subject, recorder, budget);
    if (!result) {
      result.error().message.insert(0, fmt::format("{}: ", signature_.kernel));
      return {result.error()};
    }
    Expected<TuneDatabase::Choice> choice = database_->choice(key);
    if (!choice) return {choice.error()};
    found.result = std::move(*result);
    found.choice = std::move(*choice);
    listener_.onResult(found);
    return {};
  }

  /// Estimates each configuration from its metadata until time is up. One that does not compile has no
  /// estimate; its turn to be compiled will report why.
  void predict(CompileOptions options, const cli::Binding &binding, int64_t cores, Clock::time_point end,
               std::vector<Configuration> &configurations) {
    double bytes = 0;
    for (const cli::BoundParam &p : binding.params)
      bytes += double(p.bytes);
    const MachineConstants machine = machineConstants(cores, true);
    for (Configuration &c : configurations) {
      if (Clock::now() >= end || listener_.isStopped()) return;
      options.tunables = c.values;
      std::string yaml, why;
      std::vector<Diagnostic> unsaid;
      KernelMetadata m;
      if (cachedCompiler()->emit(request_.source, options, Emit::Metadata, yaml, unsaid) ==
              CompileStatus::Ok &&
          KernelMetadata::fromYaml(yaml, m, why))
        c.predictedNs = predictNs(m, binding.dims, bytes, machine);
    }
  }

  const TuneRequest &request_;
  const Signature &signature_;
  TuneListener &listener_;
  std::optional<TuneDatabase> database_;
  std::vector<Configuration> space_;
  bool isExact_ = false;
};

} // namespace

TuneOutcome runTuning(const TuneRequest &request, const Signature &signature, TuneListener &listener) {
  return Run(request, signature, listener).run();
}

} // namespace tessera::tune
