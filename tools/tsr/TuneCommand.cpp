// `tsr tune`: measures the configurations that a kernel declares and remembers the fastest.
#include "core/cache/CachedCompiler.h"
#include "core/service/BuildId.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"
#include "tools/tsr/TuneReport.h"
#include "tools/tune/TuneDocument.h"
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

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
        {"backend",
         0,
         OptionSpec::Value,
         "BACKEND",
         "cpu: no other one is measured (default: TESSERA_BACKEND, or cpu)",
         {"cpu"}},
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
  tune::TuneRequest request;
  bool json = false;
};

/// "1 choice", "2 choices"
std::string counted(size_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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

/// Shows the progress, prints results as they come, and says what remains after Ctrl-C.
class TuneOutput final : public tune::TuneListener {
public:
  explicit TuneOutput(const TuneOptions &options) : options_(options) {}

  void onBegin() override {
    const std::string &path = options_.request.database;
    interruptText =
        fmt::format("\ntsr: interrupted: {} keeps the sizes that were finished; tsr tune --export "
                    "--database {} writes their choices\n",
                    path, path);
    std::signal(SIGINT, onInterrupt);
  }
  void onSizes(const CompileOptions &compiled) override { recordOptions(compiled); }
  void onProgress(const tune::TuneProgress &p) override {
    const std::string what = fmt::format("tuning {} {}", p.kernel, tune::textOf(p.dims));
    if (!progress_) progress_.emplace(what);
    if (p.all)
      progress_->update(fmt::format("{}: {} of {}, best {} {:.2f}x, {:.0f} s left", what, p.done, p.all,
                                    p.best.empty() ? "default" : p.best, p.gain, p.secondsLeft));
  }
  void onResult(const tune::SizeResult &found) override {
    progress_.reset();
    if (options_.json)
      results_.push_back(documentOf(found));
    else
      fmt::print("{}", describeTuning(found));
  }

  int conclude(const tune::TuneOutcome &outcome) {
    progress_.reset();
    if (!outcome.errors.empty()) return fail(outcome.errors);
    const tune::TuneRequest &request = options_.request;
    if (options_.json)
      printJson(Json{{"database", request.database}, {"look_up", request.lookUp}, {"results", results_}});
    else if (!request.lookUp.empty())
      fmt::print("{}: {}\n", request.lookUp, counted(outcome.choices, "choice"));
    return exitOk;
  }

private:
  const TuneOptions &options_;
  std::optional<Progress> progress_;
  Json results_ = Json::array();
};

int tuneFile(const TuneOptions &options) {
  const tune::TuneRequest &request = options.request;
  std::vector<Signature> signatures;
  std::vector<Diagnostic> diags;
  if (int rc = conclude(
          cachedCompiler()->signatures(request.source, request.options.fileName, signatures, diags), diags))
    return rc;
  const Signature *signature = nullptr;
  if (auto e = chooseKernel(signatures, onlyKernel(request.options), signature)) return fail(*e);
  TuneOutput output(options);
  return output.conclude(runTuning(request, *signature, output));
}

int mergeFiles(const std::vector<std::string> &files, const TuneOptions &options) {
  if (files.empty())
    return fail(
        Error{"E_NO_FILE", "no database to merge", "usage: tsr tune --merge A.db B.db --database OUT.db"});
  const tune::TuneRequest &request = options.request;
  Expected<size_t> choices = tune::mergeDatabases(files, request.database, request.lookUp);
  if (!choices) return fail(choices.error());
  fmt::print("{}: {} added; {}\n", request.database, counted(files.size(), "database"),
             counted(*choices, "choice"));
  return exitOk;
}

int listChoices(const TuneOptions &options) {
  auto choices = tune::readChoices(options.request.database);
  if (!choices) return fail(choices.error());
  if (options.json)
    printJson(documentOf(*choices, TESSERA_BUILD_ID));
  else
    fmt::print("{}", describeChoices(*choices, TESSERA_BUILD_ID));
  return exitOk;
}

int exportOnly(const TuneOptions &options) {
  const tune::TuneRequest &request = options.request;
  Expected<size_t> choices = tune::exportChoices(request.database, request.lookUp);
  if (!choices) return fail(choices.error());
  fmt::print("{}: {}\n", request.lookUp, counted(*choices, "choice"));
  return exitOk;
}

MaybeError readOptions(const Arguments &args, TuneOptions &out) {
  out.request.arguments.in = args.named("in");
  out.request.arguments.scalars = args.named("scalar");
  out.json = args.has("json");
  int64_t budget = 60, seed = 0;
  if (args.has("budget") && (!parseInt(args.value("budget"), budget) || budget < 1 || budget > 1'000'000))
    return Error{"E_OPTION_VALUE",
                 fmt::format("--budget {}: a number of seconds from 1 to 1000000", args.value("budget")), ""};
  if (args.has("seed") && (!parseInt(args.value("seed"), seed) || seed < 0))
    return Error{"E_OPTION_VALUE", fmt::format("--seed {}: a number from 0 on", args.value("seed")), ""};
  out.request.budget = double(budget);
  out.request.seed = uint64_t(seed);
  out.request.backend = args.value("backend");
  out.request.database = args.value("database");
  out.request.lookUp = args.value("export");
  return tune::chooseFiles(out.request.database, out.request.lookUp);
}

/// Merging, listing and exporting measure nothing. Refuses what only measuring has.
MaybeError refuseUnused(const Arguments &args) {
  const bool merges = args.has("merge"), lists = args.has("list") && !merges;
  const bool exports = args.has("export") && !merges && !lists && args.positional().empty();
  if (!merges && !lists && !exports) return std::nullopt;
  const char *mode = merges ? "merge" : lists ? "list" : "export";
  for (const char *option : {"dim", "in", "scalar", "kernel", "numerics", "backend", "budget", "seed",
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
  if (auto e = readSizes(args.named("dim"), options.request.sizes)) return fail(*e);
  if (auto e = readSource(job.file, job.source)) return fail(*e);
  options.request.source = job.source;
  options.request.options = job.options;
  return supervise(job, [&] { return tuneFile(options); });
}

} // namespace

const Command tuneCommand = {tuneSpec, tuneMain};

} // namespace tessera::cli
