// `tsr profile`: how long each launch of a program takes, and how that compares with copying its tensors.
#include "core/cache/CachedCompiler.h"
#include "tools/tsr/Artifact.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/FillArguments.h"
#include "tools/tsr/RunReport.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <vector>

namespace tessera::cli {
namespace {

const CommandSpec profileSpec = {
    "profile",
    "FILE [options]",
    "the time of each launch, the variant chosen, and how far it is from the speed of memory",
    "Runs one kernel or graph function of FILE (a source or a bundle) many times on the CPU and prints,\n"
    "for each of its launches, the time, the variant that was chosen, and the bytes of its tensors. The\n"
    "last column compares with a copy of as many bytes, measured in the same run: a launch that only\n"
    "moves memory reaches about 100%. Inputs without a file are random.",
    {
        {"in", 0, OptionSpec::Named, "NAME=FILE ...", "a tensor's contents"},
        {"scalar", 0, OptionSpec::Named, "NAME=VALUE ...", "a scalar: 2, -1.5, inf, nan, true"},
        {"dim", 0, OptionSpec::Named, "NAME=VALUE ...", "a symbolic dim that no input carries, or a stride"},
        {"set", 0, OptionSpec::Named, "NAME=VALUE ...", "a tunable's value, from its declared space"},
        {"kernel", 0, OptionSpec::Value, "KERNEL", "which kernel; may be left out where there is one"},
        {"numerics",
         0,
         OptionSpec::Value,
         "PROFILE",
         "fast, standard, deterministic, strict or a plugin's (default: TESSERA_NUMERICS, or standard)",
         {"fast", "standard", "deterministic", "strict"}},
        {"runs", 0, OptionSpec::Value, "N", "how often it runs (default: 20)"},
        {"json", 0, OptionSpec::Flag, "", "print a JSON document on standard output"},
    },
    1,
    "  tsr profile samples/mlp/mlp.py --dim M=256 D=512 F=1024\n"
    "  tsr profile samples/softmax/softmax.py --dim R=4096 C=512 --json\n",
};

/// Collects the records of launches, which come from any thread.
class LaunchTrace {
public:
  struct Record {
    std::string name;
    int64_t begin, end, programs;
  };

  MaybeError start() {
    tsr_trace_options_t options = {};
    options.struct_size = sizeof options;
    options.record = [](void *self, const tsr_trace_record_t *record) {
      auto &trace = *static_cast<LaunchTrace *>(self);
      const std::lock_guard lock(trace.mutex_);
      trace.records_.push_back({record->name, record->begin_ns, record->end_ns, record->programs});
    };
    options.user = this;
    options.kinds = 1u << TSR_TRACE_LAUNCH;
    if (tsrTraceStart(&options) != TSR_SUCCESS) return lastError("E_INTERNAL");
    return std::nullopt;
  }
  /// Ends the trace and returns its records in the order of their begin.
  std::vector<Record> stop() {
    (void)tsrTraceStop();
    const std::lock_guard lock(mutex_);
    std::ranges::stable_sort(records_, std::less<>(), &Record::begin);
    return std::move(records_);
  }

private:
  std::mutex mutex_;
  std::vector<Record> records_;
};

/// Runs what the session has loaded, and returns the launches of each run.
Expected<std::vector<LaunchTrace::Record>> traceRuns(Session &session, const Binding &binding, int64_t runs,
                                                     Progress &progress) {
  for (int warmUp = 0; warmUp < 2; ++warmUp)
    if (auto f = session.run()) return f->error;
  LaunchTrace trace;
  if (MaybeError error = trace.start()) return *error;
  for (int64_t i = 0; i < runs; ++i) {
    progress.update(fmt::format("run {} of {}", i + 1, runs));
    std::optional<Error> failed;
    if (auto f = session.restore(binding))
      failed = f->error;
    else if (auto g = session.run())
      failed = g->error;
    if (!failed) continue;
    (void)trace.stop();
    return *failed;
  }
  return trace.stop();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The time of copies with a compiled kernel.
class Copies {
public:
  /// Returns the least nanoseconds of a launch that reads and writes `bytes` altogether; nullopt: it cannot
  /// be measured, which is no error of the program.
  std::optional<double> nanoseconds(double bytes, int64_t runs) {
    const auto elements = static_cast<int64_t>(bytes / 8); // of f32, read and written
    if (elements < 1) return std::nullopt;
    if (auto known = known_.find(elements); known != known_.end()) return known->second;
    return known_[elements] = measure(elements, runs);
  }

private:
  static std::optional<double> measure(int64_t elements, int64_t runs) {
    constexpr std::string_view source =
        "import tessera as ts\n"
        "@ts.kernel\n"
        "def copy(x: ts.Tensor[\"n\", ts.f32], y: ts.Tensor[\"n\", ts.f32]):\n"
        "    for i in ts.tile.parallel(0, n, 4096):\n"
        "        y[i:i+4096] = x[i:i+4096]\n";
    CompileOptions options;
    options.fileName = "copy.py";
    options.kernels = {"copy"};
    std::vector<Signature> signatures;
    std::vector<Diagnostic> unsaid;
    if (cachedCompiler()->signatures(source, options.fileName, signatures, unsaid) != CompileStatus::Ok)
      return std::nullopt;
    Request request;
    request.dims = {{"n", fmt::format("{}", elements)}};
    request.fills = true;
    Binding binding;
    Session session;
    Progress progress("copying as many bytes");
    if (!bind(signatures[0], request, binding).empty() || !fillArguments(binding) || session.open("cpu") ||
        session.compile(source, options, false) || session.place(binding))
      return std::nullopt;
    Expected<std::vector<LaunchTrace::Record>> records = traceRuns(session, binding, runs, progress);
    if (!records || records->empty()) return std::nullopt;
    std::vector<double> times;
    for (const LaunchTrace::Record &r : *records)
      times.push_back(double(r.end - r.begin));
    return *std::ranges::min_element(times);
  }
  std::map<int64_t, std::optional<double>> known_;
};

struct Row {
  LaunchInfo launch;
  std::string entry; // that was launched
  int64_t programs = 0;
  double medianNs = 0, leastNs = 0;
  std::optional<double> copyNs;
};

struct ProfileOptions {
  Request request;
  int64_t runs = 20;
  bool json = false;
};

Expected<std::vector<Row>> rowsOf(const std::vector<LaunchTrace::Record> &records,
                                  std::vector<LaunchInfo> launches, int64_t runs) {
  if (launches.empty() || records.size() != launches.size() * static_cast<size_t>(runs))
    return Error{
        "E_INTERNAL",
        fmt::format("{} launches were recorded in {} runs of {}", records.size(), runs, launches.size()), ""};
  std::vector<Row> out;
  for (size_t i = 0; i < launches.size(); ++i) {
    std::vector<double> times;
    for (size_t at = i; at < records.size(); at += launches.size())
      times.push_back(double(records[at].end - records[at].begin));
    out.push_back({std::move(launches[i]), records[i].name, records[i].programs, median(times),
                   *std::ranges::min_element(times), std::nullopt});
  }
  return out;
}

std::string microseconds(double ns) { return fmt::format("{:.2f}", ns * 1e-3); }

std::string table(const std::vector<Row> &rows) {
  double all = 0;
  for (const Row &r : rows)
    all += r.medianNs;
  std::string text =
      fmt::format("{:<28} {:<10} {:>10} {:>10} {:>6} {:>9} {:>12} {:>8} {:>8}\n", "launch", "variant",
                  "median us", "least us", "share", "programs", "bytes", "GB/s", "of copy");
  for (const Row &r : rows) {
    const LaunchInfo &l = r.launch;
    text +=
        fmt::format("{:<28} {:<10} {:>10} {:>10} {:>5.1f}% {:>9} {:>12} {:>8} {:>8}\n", l.kernel,
                    l.variant.empty() ? "-" : l.variant, microseconds(r.medianNs), microseconds(r.leastNs),
                    all > 0 ? 100 * r.medianNs / all : 0.0, r.programs,
                    l.bytes < 0 ? "-" : fmt::format("{:.0f}", l.bytes),
                    l.bytes < 0 || r.medianNs <= 0 ? "-" : fmt::format("{:.2f}", l.bytes / r.medianNs),
                    r.copyNs && r.leastNs > 0 ? fmt::format("{:.0f}%", 100 * *r.copyNs / r.leastNs) : "-");
  }
  return text + fmt::format("{:<28} {:<10} {:>10}\n", "all launches", "", microseconds(all));
}

Json document(const std::string &kernel, const Binding &binding, const std::vector<Row> &rows, int64_t runs) {
  Json out = {
      {"kernel", kernel}, {"dims", objectOf(binding.dims)}, {"runs", runs}, {"launches", Json::array()}};
  for (const Row &r : rows) {
    Json one = {{"kernel", r.launch.kernel}, {"entry", r.entry},        {"dims", objectOf(r.launch.dims)},
                {"programs", r.programs},    {"median_ns", r.medianNs}, {"min_ns", r.leastNs}};
    if (!r.launch.variant.empty()) one["variant"] = r.launch.variant;
    if (r.launch.bytes >= 0) one["bytes"] = r.launch.bytes;
    if (r.copyNs) one["copy_ns"] = *r.copyNs;
    out["launches"].push_back(std::move(one));
  }
  return out;
}

/// Measures what the session has loaded.
int profileLoaded(Session &session, Binding &binding, const std::string &kernel,
                  const ProfileOptions &options) {
  std::vector<Row> rows;
  {
    Progress progress("profiling " + kernel);
    if (!fillArguments(binding)) return fail(Error{"E_OUT_OF_MEMORY", "no memory for the arguments", ""});
    if (auto f = session.place(binding)) return fail(f->error);
    Expected<std::vector<LaunchTrace::Record>> records = traceRuns(session, binding, options.runs, progress);
    if (!records) return fail(records.error());
    Expected<std::vector<LaunchInfo>> launches = launchesOf(session, binding);
    if (!launches) return fail(launches.error());
    Expected<std::vector<Row>> made = rowsOf(*records, std::move(*launches), options.runs);
    if (!made) return fail(made.error());
    rows = std::move(*made);
  }
  Copies copies;
  for (Row &r : rows)
    r.copyNs = copies.nanoseconds(r.launch.bytes, options.runs);
  if (options.json)
    printJson(document(kernel, binding, rows, options.runs));
  else
    fmt::print("{}", table(rows));
  return exitOk;
}

int profileSource(const Job &job, const ProfileOptions &options) {
  std::vector<Signature> signatures;
  std::vector<Diagnostic> diags;
  if (int rc = conclude(cachedCompiler()->signatures(job.source, job.file, signatures, diags), diags))
    return rc;
  const Signature *signature = nullptr;
  if (auto e = chooseKernel(signatures, onlyKernel(job.options), signature)) return fail(*e);
  Binding binding;
  if (const Errors errors = bind(*signature, options.request, binding); !errors.empty()) return fail(errors);
  CompileOptions compile = job.options;
  compile.kernels = {signature->kernel};
  compile.dims = binding.dims;
  if (binding.leading) compile.dims.emplace_back(kLeadingDims, *binding.leading);
  compile.exactDims = true;
  compile.tunables = binding.tunables;
  recordOptions(compile);
  Session session;
  if (auto f = session.open("cpu")) return fail(f->error);
  if (auto f = session.compile(job.source, compile, false)) return f->said ? f->exitStatus : fail(f->error);
  return profileLoaded(session, binding, signature->kernel, options);
}

int profileArtifact(const Job &job, ProfileOptions options) {
  Session session;
  if (auto f = session.open("cpu")) return fail(f->error);
  std::string bundle, why;
  if (int rc = bundleOf(job, "cpu", bundle)) return rc;
  if (auto f = session.load(job.file, bundle, onlyKernel(job.options))) return fail(f->error);
  KernelMetadata m;
  if (!KernelMetadata::fromYaml(session.metadata(), m, why))
    return fail(Error{"E_INTERNAL", fmt::format("{}: metadata of a loaded kernel: {}", job.file, why), ""});
  options.request.compiledFor = m.specialized;
  Binding binding;
  if (const Errors errors = bind(signatureOf(m), options.request, binding); !errors.empty())
    return fail(errors);
  return profileLoaded(session, binding, m.name, options);
}

int profileMain(const Arguments &args, const std::string &commandLine) {
  if (args.positional().empty())
    return fail(
        Error{"E_NO_FILE", "no source file", fmt::format("usage: tsr profile {}", profileSpec.synopsis)});
  Job job{.commandLine = commandLine, .file = args.positional()[0], .source = {}, .options = {}};
  job.options.fileName = job.file;
  if (args.has("kernel")) job.options.kernels = {args.value("kernel")};
  if (auto e = chooseNumerics(args.value("numerics"), job.options)) return fail(*e);
  ProfileOptions options;
  options.request.in = args.named("in");
  options.request.scalars = args.named("scalar");
  options.request.dims = args.named("dim");
  options.request.tunables = args.named("set");
  options.request.fills = true;
  options.json = args.has("json");
  constexpr int64_t most = 100'000;
  if (args.has("runs") &&
      (!parseInt(args.value("runs"), options.runs) || options.runs < 1 || options.runs > most))
    return fail(Error{"E_OPTION_VALUE",
                      fmt::format("--runs {}: a number of runs from 1 to {}", args.value("runs"), most), ""});
  if (isArtifact(job.file)) {
    if (auto e = refuseOptions(args, job.file, {"set", "numerics"})) return fail(*e);
    if (auto e = readArtifact(job)) return fail(*e);
    return supervise(job, [&] { return profileArtifact(job, options); });
  }
  if (auto e = readSource(job.file, job.source)) return fail(*e);
  return supervise(job, [&] { return profileSource(job, options); });
}

} // namespace

const Command profileCommand = {profileSpec, profileMain};

} // namespace tessera::cli
