// `tsr tune`: measures the configurations that a kernel declares and remembers the fastest.
#include "core/bundle/Hash.h"
#include "core/cache/CachedCompiler.h"
#include "core/launch/HostMachine.h"
#include "core/service/BuildId.h"
#include "core/support/HostCpu.h"
#include "core/support/OutputFile.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/KernelSubject.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"
#include "tools/tsr/TuneReport.h"
#include "tools/tune/Cost.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

using tune::Configuration;
using tune::TuneDatabase;

const CommandSpec tuneSpec = {
    "tune",
    "FILE [options]",
    "find a kernel's fastest tunables and remember them",
    "Measures the configurations that a kernel declares with @ts.kernel.autotune, beside its default, for\n"
    "the sizes of --dim. Measurements go to a database. What they choose goes to a look-up file that every\n"
    "later compilation reads. Inputs without a file are random. tsr tune --merge A.db B.db unites "
    "databases;\n"
    "--list shows one; --export writes its look-up file again.",
    {
        {"dim", 0, OptionSpec::Named, "NAME=VALUE[,VALUE...] ...",
         "sizes; several values of several dims: every combination"},
        {"in", 0, OptionSpec::Named, "NAME=FILE ...", "a tensor's contents, where random ones will not do"},
        {"scalar", 0, OptionSpec::Named, "NAME=VALUE ...", "a scalar: 2, -1.5, inf, nan, true"},
        {"kernel", 0, OptionSpec::Value, "KERNEL", "which kernel; may be left out where there is one"},
        {"numerics",
         0,
         OptionSpec::Value,
         "PROFILE",
         "fast, standard, deterministic or a plugin's (default: TESSERA_NUMERICS, or standard)",
         {"fast", "standard", "deterministic"}},
        {"budget", 0, OptionSpec::Value, "SECONDS", "end after so long (default: 60)"},
        {"seed", 0, OptionSpec::Value, "N", "which configurations of a large space are tried at random"},
        {"database", 0, OptionSpec::Value, "FILE",
         "where measurements are kept (default: tessera/tune.db in XDG_DATA_HOME, else in ~/.local/share)"},
        {"export", 0, OptionSpec::OptionalValue, "FILE",
         "write the look-up file, there (default: TESSERA_TUNED, or tessera/tuned.tsrt beside the database)"},
        {"merge", 0, OptionSpec::Flag, "", "add the measurements of databases, instead of measuring"},
        {"list", 0, OptionSpec::Flag, "", "print the choices of the database, instead of measuring"},
        {"json", 0, OptionSpec::Flag, "", "print the results as a JSON document on standard output"},
    },
    64,
    "  tsr tune samples/gemm_loops/gemm_loops.py --dim M=256,1024 N=1024 K=1024\n"
    "  tsr tune --merge laptop.db server.db --database all.db\n"
    "  tsr tune --list\n",
};

struct TuneOptions {
  Request request;
  std::string database, lookUp;
  double budget = 60;
  uint64_t seed = 0;
  bool json = false;
};

/// Replaces the look-up file by the choices of the database.
MaybeError exportRows(TuneDatabase &database, const std::string &path, size_t &count) {
  if (path.empty()) return std::nullopt;
  Expected<std::vector<TunedRow>> rows = database.rows();
  if (!rows) return rows.error();
  count = rows->size();
  std::error_code ignored; // writing the file reports it
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  MaybeError error = writeFile(path, writeTuned(*rows));
  if (error) error->message = fmt::format("{}: {}", path, error->message);
  return error;
}

/// "M=256,512" -> 256 and 512.
MaybeError readSizes(const std::vector<NamedValue> &given, std::vector<std::vector<NamedValue>> &out) {
  out.assign(1, {});
  constexpr size_t most = 1000;
  for (const auto &[name, text] : given) {
    std::vector<std::vector<NamedValue>> longer;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      int64_t size = 0;
      if (!parseInt(text.substr(at, end - at), size))
        return Error{"E_OPTION_VALUE",
                     fmt::format("--dim {}={}: '{}' is no size", name, text, text.substr(at, end - at)),
                     "sizes are integers with commas between them: --dim M=256,512"};
      for (const std::vector<NamedValue> &dims : out) {
        longer.push_back(dims);
        longer.back().emplace_back(name, text.substr(at, end - at));
      }
      at = end + 1;
    }
    out = std::move(longer);
    if (out.size() > most)
      return Error{"E_OPTION_VALUE", fmt::format("--dim: more than {} combinations of sizes", most), ""};
  }
  return std::nullopt;
}

std::string interruptText; // complete before the handler is set

/// Says what remains, then ends as without a handler.
void onInterrupt(int signal) {
  (void)!::write(STDERR_FILENO, interruptText.data(), interruptText.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// A name for what this process measures that no other process has.
std::string runId() {
  char host[256] = {};
  (void)gethostname(host, sizeof host - 1);
  return fmt::format("{}-{}-{}", host, getpid(), std::chrono::system_clock::now().time_since_epoch().count());
}

using Clock = std::chrono::steady_clock;

/// Estimates each configuration from its metadata until time is up. One that does not compile has no
/// estimate; its turn to be compiled will report why.
void predict(CompilerService &compiler, const Job &job, CompileOptions options, const Binding &binding,
             int64_t cores, Clock::time_point end, std::vector<Configuration> &configurations) {
  double bytes = 0;
  for (const BoundParam &p : binding.params)
    bytes += double(p.bytes);
  const MachineConstants machine = machineConstants(cores, true);
  for (Configuration &c : configurations) {
    if (Clock::now() >= end) return;
    options.tunables = c.values;
    std::string yaml, why;
    std::vector<Diagnostic> unsaid;
    KernelMetadata m;
    if (compiler.emit(job.source, options, Emit::Metadata, yaml, unsaid) == CompileStatus::Ok &&
        KernelMetadata::fromYaml(yaml, m, why))
      c.predictedNs = tune::predictNs(m, binding.dims, bytes, machine);
  }
}

/// Tunes one kernel for one set of sizes after another.
class Tuning {
public:
  Tuning(const Job &job, const TuneOptions &options, const Signature &signature, TuneDatabase &database)
      : job_(job), options_(options), signature_(signature), database_(database) {}

  int run(const std::vector<std::vector<NamedValue>> &sizes) {
    const NumericsPermissions permits = *job_.options.permits;
    if (permits.frozenTunables)
      return fail(Error{"E_TUNE_EMPTY",
                        fmt::format("numerics profile {} freezes tunables: each keeps its first value",
                                    job_.options.numerics),
                        ""});
    Expected<std::vector<Configuration>> space = tune::configurationsOf(signature_);
    if (!space) return fail(space.error());
    space_ = std::move(*space);
    // Tunables may change the order of a sum, so a profile that fixes bits wants equal ones, for these sizes.
    isExact_ = !permits.unorderedAtomics;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (MaybeError error =
            database_.beginRun(runId(), hostCpuModel(), sysconf(_SC_NPROCESSORS_ONLN),
                               std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()))
      return fail(*error);
    interruptText =
        fmt::format("\ntsr: interrupted: {} keeps the sizes that were finished; tsr tune --export "
                    "--database {} writes their choices\n",
                    database_.path(), database_.path());
    std::signal(SIGINT, onInterrupt);
    int rc = exitOk; // sizes before one that fails keep their choices
    for (size_t i = 0; rc == exitOk && i < sizes.size(); ++i)
      rc = runOne(sizes[i], options_.budget / double(sizes.size()));
    if (MaybeError error = database_.decide()) return fail(*error);
    size_t rows = 0;
    if (MaybeError error = exportRows(database_, options_.lookUp, rows)) return fail(*error);
    if (rc != exitOk) return rc;
    if (options_.json)
      printJson(Json{{"database", database_.path()}, {"look_up", options_.lookUp}, {"results", results_}});
    else if (!options_.lookUp.empty())
      fmt::print("{}: {} choices\n", options_.lookUp, rows);
    return exitOk;
  }

private:
  int runOne(const std::vector<NamedValue> &sizes, double budget) {
    const auto start = Clock::now();
    auto after = [&](double seconds) {
      return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    };
    Request request = options_.request;
    request.dims = sizes;
    request.fills = true;
    Binding binding;
    if (const Errors errors = bind(signature_, request, binding); !errors.empty()) return fail(errors);
    Session session;
    if (auto f = session.open("cpu")) return fail(f->error);
    CompileOptions options = job_.options;
    options.kernels = {signature_.kernel};
    options.dims = binding.dims;
    options.exactDims = true;
    recordOptions(options);
    const std::string what = fmt::format("tuning {} {}", signature_.kernel, tune::textOf(binding.dims));
    Progress progress(what);
    std::vector<Configuration> configurations = space_;
    // A large space must leave time to measure.
    predict(*cachedCompiler(), job_, options, binding, session.device().compute_units, after(budget / 2),
            configurations);
    budget = std::chrono::duration<double>(after(budget) - Clock::now()).count();
    const tune::TuneKey key{tunedKernelOf(signature_), tunedArchOf("cpu"), options.numerics, TESSERA_BUILD_ID,
                            sizeClassOf(binding.dims, isExact_)};
    // The whole source, because a kernel may call other functions of it.
    if (MaybeError error = database_.beginKey(key, hexadecimal(hash128(job_.source)))) return fail(*error);
    KernelSubject subject(session, job_.source, options, signature_, binding, configurations, isExact_);
    if (auto f = subject.place()) return fail(f->error);
    TuneRecorder recorder(database_, key, configurations, progress, what, budget);
    const auto search = tune::successiveHalving({.seed = options_.seed});
    Expected<tune::TuneResult> result = tune::tune(configurations, *search, subject, recorder, budget);
    if (!result) {
      result.error().message.insert(0, fmt::format("{}: ", signature_.kernel));
      return fail(result.error());
    }
    Expected<TuneDatabase::Choice> choice = database_.choice(key);
    if (!choice) return fail(choice.error());
    if (options_.json)
      results_.push_back(
          tuningDocument(signature_.kernel, binding.dims, configurations, *result, *choice, recorder));
    else
      fmt::print("{}",
                 describeTuning(signature_.kernel, binding.dims, configurations, *result, *choice, recorder));
    return exitOk;
  }

  const Job &job_;
  const TuneOptions &options_;
  const Signature &signature_;
  TuneDatabase &database_;
  std::vector<Configuration> space_;
  bool isExact_ = false;
  Json results_ = Json::array();
};

int tuneFile(const Job &job, const TuneOptions &options, const std::vector<std::vector<NamedValue>> &sizes) {
  std::vector<Signature> signatures;
  std::vector<Diagnostic> diags;
  if (int rc = conclude(cachedCompiler()->signatures(job.source, job.file, signatures, diags), diags))
    return rc;
  const Signature *signature = nullptr;
  if (auto e = chooseKernel(signatures, onlyKernel(job.options), signature)) return fail(*e);
  Expected<TuneDatabase> database = TuneDatabase::open(options.database);
  if (!database) return fail(database.error());
  return Tuning(job, options, *signature, *database).run(sizes);
}

int mergeFiles(const std::vector<std::string> &files, const TuneOptions &options) {
  if (files.empty())
    return fail(
        Error{"E_NO_FILE", "no database to merge", "usage: tsr tune --merge A.db B.db --database OUT.db"});
  std::vector<TuneDatabase> sources;
  for (const std::string &file : files) {
    Expected<TuneDatabase> source = TuneDatabase::openToRead(file);
    if (!source) return fail(source.error());
    sources.push_back(std::move(*source));
  }
  Expected<TuneDatabase> out = TuneDatabase::open(options.database);
  if (!out) return fail(out.error());
  for (TuneDatabase &source : sources)
    if (MaybeError error = out->merge(source)) return fail(*error);
  size_t rows = 0;
  if (MaybeError error = exportRows(*out, options.lookUp, rows)) return fail(*error);
  fmt::print("{}: {} databases added; {} choices\n", options.database, files.size(), rows);
  return exitOk;
}

int listChoices(const TuneOptions &options) {
  Expected<TuneDatabase> database = TuneDatabase::openToRead(options.database);
  if (!database) return fail(database.error());
  Expected<std::vector<TuneDatabase::Choice>> choices = database->choices();
  if (!choices) return fail(choices.error());
  if (options.json)
    printJson(choicesDocument(*choices, TESSERA_BUILD_ID));
  else
    fmt::print("{}", describeChoices(*choices, TESSERA_BUILD_ID));
  return exitOk;
}

int exportOnly(const TuneOptions &options) {
  Expected<TuneDatabase> database = TuneDatabase::open(options.database, true);
  if (!database) return fail(database.error());
  if (MaybeError error = database->decide()) return fail(*error); // a run may have been interrupted
  size_t rows = 0;
  if (options.lookUp.empty())
    return fail(Error{"E_OPTION_VALUE", "there is no look-up file to write: TESSERA_TUNED is off",
                      "name it: --export=FILE"});
  if (MaybeError error = exportRows(*database, options.lookUp, rows)) return fail(*error);
  fmt::print("{}: {} choices\n", options.lookUp, rows);
  return exitOk;
}

MaybeError readOptions(const Arguments &args, TuneOptions &out) {
  out.request.in = args.named("in");
  out.request.scalars = args.named("scalar");
  out.json = args.has("json");
  int64_t budget = 60, seed = 0;
  if (args.has("budget") && (!parseInt(args.value("budget"), budget) || budget < 1 || budget > 1'000'000))
    return Error{"E_OPTION_VALUE",
                 fmt::format("--budget {}: a number of seconds from 1 to 1000000", args.value("budget")), ""};
  if (args.has("seed") && (!parseInt(args.value("seed"), seed) || seed < 0))
    return Error{"E_OPTION_VALUE", fmt::format("--seed {}: a number from 0 on", args.value("seed")), ""};
  out.budget = double(budget);
  out.seed = uint64_t(seed);
  const std::string directory = tunedDirectory();
  out.database = args.value("database", directory.empty() ? "" : directory + "/tune.db");
  if (out.database.empty())
    return Error{"E_OPTION_VALUE", "there is no home directory for the database", "name it: --database FILE"};
  // A database of its own has a look-up file of its own.
  const std::filesystem::path beside = std::filesystem::path(out.database).replace_extension(".tsrt");
  out.lookUp = args.value("export");
  if (out.lookUp.empty()) out.lookUp = args.has("database") ? beside.string() : tunedPath();
  if (out.lookUp == out.database)
    return Error{"E_OPTION_VALUE", fmt::format("{} would be the database and the look-up file", out.database),
                 "give one of them another name: --database FILE, --export=FILE"};
  return std::nullopt;
}

/// Merging, listing and exporting measure nothing. Refuses what only measuring has.
MaybeError refuseUnused(const Arguments &args) {
  const bool merges = args.has("merge"), lists = args.has("list") && !merges;
  const bool exports = args.has("export") && !merges && !lists && args.positional().empty();
  if (!merges && !lists && !exports) return std::nullopt;
  const char *mode = merges ? "merge" : lists ? "list" : "export";
  for (const char *option : {"dim", "in", "scalar", "kernel", "numerics", "budget", "seed",
                             lists ? "export" : "json", merges ? "list" : "merge"})
    if (args.has(option))
      return Error{"E_OPTION_VALUE", fmt::format("--{} and --{} exclude each other", mode, option), ""};
  if (lists && !args.positional().empty())
    return Error{"E_OPTION_VALUE", fmt::format("--list takes no file, found {}", args.positional()[0]),
                 "--database FILE names the database"};
  return std::nullopt;
}

int tuneMain(const Arguments &args, const std::string &commandLine) {
  TuneOptions options;
  if (auto e = readOptions(args, options)) return fail(*e);
  if (auto e = refuseUnused(args)) return fail(*e);
  if (args.has("merge")) return mergeFiles(args.positional(), options);
  if (args.has("list")) return listChoices(options);
  if (args.positional().empty() && args.has("export")) return exportOnly(options);
  if (args.positional().size() != 1)
    return fail(Error{"E_NO_FILE",
                      args.positional().empty() ? "no source file" : "one source file is tuned at a time",
                      fmt::format("usage: tsr tune {}", tuneSpec.synopsis)});
  Job job{.commandLine = commandLine, .file = args.positional()[0], .source = {}, .options = {}};
  job.options.fileName = job.file;
  if (args.has("kernel")) job.options.kernels = {args.value("kernel")};
  if (auto e = chooseNumerics(args.value("numerics"), job.options)) return fail(*e);
  std::vector<std::vector<NamedValue>> sizes;
  if (auto e = readSizes(args.named("dim"), sizes)) return fail(*e);
  if (auto e = readSource(job.file, job.source)) return fail(*e);
  return supervise(job, [&] { return tuneFile(job, options, sizes); });
}

} // namespace

const Command tuneCommand = {tuneSpec, tuneMain};

} // namespace tessera::cli
