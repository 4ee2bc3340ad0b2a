// `tsr run`: binds files to parameters, compiles, runs, writes the results.
#include "core/cache/CachedCompiler.h"
#include "core/config/Names.h"
#include "core/support/OutputFile.h"
#include "core/tuning/TunedBodies.h"
#include "core/tuning/TunedFile.h"
#include "tools/tsr/Artifact.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/Elements.h"
#include "tools/tsr/RunReport.h"
#include "tools/tsr/Session.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>

namespace tessera::cli {
namespace {

const CommandSpec runSpec = {
    "run",
    "FILE [options]",
    "compile a kernel, run it on .npy files, write the results",
    "Compiles one kernel of FILE and runs it on NumPy .npy files. FILE may also be a bundle (.tsrb) or IR "
    "(.mlir).\n"
    "Symbolic dims take their values from the inputs' shapes. A parameter that is only written needs no "
    "input: it starts as zeros.",
    {
        {"in", 0, OptionSpec::Named, "NAME=FILE ...", "a tensor's initial contents"},
        {"out", 0, OptionSpec::Named, "NAME=FILE ...",
         "where to write a tensor; a returned value is called result"},
        {"scalar", 0, OptionSpec::Named, "NAME=VALUE ...", "a scalar: 2, -1.5, inf, nan, true"},
        {"dim", 0, OptionSpec::Named, "NAME=VALUE ...", "a symbolic dim that no input carries, or a stride"},
        {"set", 0, OptionSpec::Named, "NAME=VALUE ...", "a tunable's value, from its declared space"},
        {"kernel", 0, OptionSpec::Value, "KERNEL", "which kernel; may be left out where there is one"},
        {"backend", 0, OptionSpec::Value, "BACKEND",
         "see tsr backends (default: TESSERA_BACKEND, or the best there is)"},
        {"arch", 0, OptionSpec::Value, "ARCH",
         "which device of an emulated backend (default: TESSERA_ARCH, or the first)"},
        {"check", 0, OptionSpec::Flag, "",
         "on an emulated backend: report races, and uninitialised, misaligned or out-of-bounds accesses"},
        {"numerics",
         0,
         OptionSpec::Value,
         "PROFILE",
         "fast, standard, deterministic, strict or a plugin's (default: TESSERA_NUMERICS, or standard)",
         {"fast", "standard", "deterministic", "strict"}},
        {"mapper",
         0,
         OptionSpec::Value,
         "MAPPER",
         "who chooses what the program leaves open: NAME or NAME(ARGUMENTS) (default: TESSERA_MAPPER)",
         {"default", "logging"}},
        {"raw", 0, OptionSpec::Flag, "",
         "bf16 and fp8/6/4 files hold bits (uint16, uint8) instead of float32"},
        {"time", 0, OptionSpec::Value, "N", "run N times more after a warm-up and print median and minimum"},
        {"verbose", 'v', OptionSpec::Flag, "",
         "say what was chosen: backend, grid, tunables, fallbacks, times"},
        {"json", 0, OptionSpec::Flag, "",
         "print what was chosen and the times as a JSON document on standard output"},
    },
    1,
    "  tsr run samples/saxpy/saxpy.py --in x=x.npy y=y.npy --scalar alpha=2.0 --out y=result.npy\n"
    "  tsr run samples/gemm_loops/gemm_loops.py --in A=a.npy B=b.npy --out C=c.npy --set BLOCK_N=128 --time "
    "20\n"
    "  tsr run samples/softmax/softmax.py --in X=x.npy --out Y=y.npy --verbose\n",
};

int report(const Failure &f) {
  if (!f.said) fail(f.error);
  return f.exitStatus;
}

Error ofOutput(const BoundParam &p, Error error) {
  error.message = fmt::format("--out {}={}: {}", p.name, p.output, error.message);
  return error;
}

/// Notes which tuned configuration replaces the default of the one kernel's tunables.
void noteTuned(CompilerService &compiler, const std::string &source, CompileOptions options, RunTimes &out) {
  std::vector<Diagnostic> unsaid; // the compilation reports them
  options.targets = {"cpu"};
  findTuned(compiler, source, options, unsaid);
  if (options.tuned.empty() || !options.tuned[0].when.empty()) return;
  out.tunedBy = tunedPath();
  out.tuned = options.tuned[0].values;
}

/// Opens the outputs before anything is computed, so that a path that cannot be written to costs no run.
MaybeError openOutputs(const Binding &binding, std::vector<OutputFile> &files) {
  for (const BoundParam &p : binding.params) {
    files.emplace_back();
    if (p.output.empty()) continue;
    if (auto error = files.back().open(p.output)) return ofOutput(p, std::move(*error));
  }
  return std::nullopt;
}

/// Completes all files before it renames the first one.
int writeOutputs(Session &session, const Binding &binding, bool raw, std::vector<OutputFile> &files) {
  for (size_t i = 0; i < binding.params.size(); ++i) {
    const BoundParam &p = binding.params[i];
    if (p.output.empty()) continue;
    npy::Bytes device, data;
    if (auto f = session.fetch(binding, i, device)) return report(*f);
    if (!toFile(std::move(device), p.dtype, raw, data))
      return fail(Error{"E_OUT_OF_MEMORY", fmt::format("no memory to convert {}", p.name), ""});
    std::vector<int64_t> shape = p.shape;
    if (isPacked(p.dtype) && raw && !shape.empty()) shape.back() /= 2;
    MaybeError error = files[i].write(npy::makeHeader(fileType(p.dtype, raw), shape));
    if (!error) error = files[i].write(data.span());
    if (!error) error = files[i].finish();
    if (error) return fail(ofOutput(p, std::move(*error)));
  }
  for (size_t i = 0; i < binding.params.size(); ++i) {
    if (binding.params[i].output.empty()) continue;
    if (auto error = files[i].commit()) return fail(ofOutput(binding.params[i], std::move(*error)));
  }
  return exitOk;
}

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Collects what emulated devices log about launches while it lives, and shows warnings as before.
class ExecutedLog {
public:
  ExecutedLog() { (void)tsrSetLogCallback(&add, this, TSR_LOG_NOTE); }
  ~ExecutedLog() { (void)tsrSetLogCallback(showWarning, nullptr, TSR_LOG_WARNING); }
  ExecutedLog(const ExecutedLog &) = delete;
  ExecutedLog &operator=(const ExecutedLog &) = delete;
  const Executed &lines() const { return lines_; }

private:
  static void add(void *user, tsr_log_level_t level, const char *code, const char *text) {
    if (std::string_view(code) == "N_EMULATED") static_cast<ExecutedLog *>(user)->lines_.emplace_back(text);
    showWarning(nullptr, level, code, text);
  }
  Executed lines_;
};

struct RunOptions {
  Request request;
  std::string backend, mapper;
  int64_t timedRuns = 0;
  bool verbose = false, json = false;
};

/// Reports errors of the program before its arguments are checked. Ignores errors that exist only because a
/// dim is still unknown. Returns exitOk when no other error is found.
int checkProgram(CompilerService &compiler, const std::string &source, const CompileOptions &options) {
  std::string graph;
  std::vector<Diagnostic> diags;
  const CompileStatus status = compiler.emit(source, options, Emit::Graph, graph, diags);
  std::erase_if(diags, [](const Diagnostic &d) { return d.code == "E_DIM_NOT_STATIC"; });
  const bool refused = std::any_of(diags.begin(), diags.end(), [](const Diagnostic &d) {
    return d.severity == Diagnostic::Severity::Error;
  });
  return refused ? conclude(status, diags) : int(exitOk);
}

/// Runs once to warm up, then `count` times with timing. Restores the initial values before each run.
MaybeFailure repeat(Session &session, const Binding &binding, int64_t count, std::vector<double> &seconds) {
  if (count == 0) return std::nullopt;
  Progress progress("warming up");
  for (int64_t i = 0; i <= count; ++i) {
    if (i > 0) progress.update(fmt::format("run {} of {}", i, count));
    if (auto f = session.restore(binding)) return f;
    const auto start = Clock::now();
    if (auto f = session.run()) return f;
    if (i > 0) seconds.push_back(secondsSince(start));
  }
  return std::nullopt;
}

/// Runs the kernel that `prepare` puts into the session once the outputs are open. `times` holds what was
/// spent on it before.
int runBound(Session &session, const Binding &binding, const std::string &kernel, const RunOptions &options,
             RunTimes times, const std::function<MaybeFailure()> &prepare) {
  std::vector<OutputFile> files;
  if (auto e = openOutputs(binding, files)) return fail(*e);

  Executed executed;
  {
    Progress progress("compiling " + kernel);
    const auto compileStart = Clock::now();
    if (auto f = prepare()) return report(*f);
    times.compileSeconds += secondsSince(compileStart);
    progress.update("placing the arguments of " + kernel);
    if (auto f = session.place(binding)) return report(*f);
    progress.update("running " + kernel);
    const auto runStart = Clock::now();
    std::optional<ExecutedLog> log;
    if (options.verbose) log.emplace();
    if (auto f = session.run()) return report(*f);
    if (log) executed = log->lines();
    times.runSeconds = secondsSince(runStart);
    progress.update("writing the results");
    if (int rc = writeOutputs(session, binding, options.request.raw, files)) return rc;
  }
  if (options.verbose) say(describeRun(session, binding, times, executed));
  if (auto f = repeat(session, binding, options.timedRuns, times.repeats)) return report(*f);
  if (options.json)
    printJson(runDocument(session, binding, times));
  else if (options.timedRuns > 0)
    fmt::print("{}\n", describeTiming(kernel, binding, times));
  else if (options.request.out.empty())
    say("tsr: note: the results are not kept: no --out names a file\n");
  return exitOk;
}

/// Binds the arguments to what the session has loaded, and runs it.
int runLoaded(Session &session, const std::string &file, RunOptions options, RunTimes times) {
  KernelMetadata m;
  std::string why;
  if (!KernelMetadata::fromYaml(session.metadata(), m, why))
    return fail(Error{"E_INTERNAL", fmt::format("{}: metadata of a loaded kernel: {}", file, why), ""});
  options.request.compiledFor = m.specialized;
  Binding binding;
  if (const Errors errors = bind(signatureOf(m), options.request, binding); !errors.empty())
    return fail(errors);
  return runBound(session, binding, m.name, options, std::move(times), [] { return MaybeFailure(); });
}

int run(const Job &job, const RunOptions &options) {
  if (auto e = chooseMapper(options.mapper)) return fail(*e);
  CompilerService *compiler = cachedCompiler(); // a program in the cache needs no compiler
  std::vector<Signature> signatures;
  std::vector<Diagnostic> diags;
  if (int rc = conclude(compiler->signatures(job.source, job.file, signatures, diags), diags)) return rc;
  const Signature *signature = nullptr;
  if (auto e = chooseKernel(signatures, onlyKernel(job.options), signature)) return fail(*e);

  Session session;
  if (auto f = session.open(options.backend)) return report(*f);

  // If a function needs values of dims, only its compilation tells the results that no annotation names.
  const bool isOpen =
      signature->isGraphFunction && std::ranges::none_of(signature->params, &SignatureParam::isResult);
  Request request = options.request;
  if (isOpen) request.out.clear();
  Binding binding;
  const Errors errors = bind(*signature, request, binding);
  CompileOptions compile = job.options;
  compile.kernels = {signature->kernel};
  compile.dims = binding.dims;
  if (binding.leading) compile.dims.emplace_back(kLeadingDims, *binding.leading);
  compile.exactDims = true; // the one call has these
  compile.tunables = binding.tunables;
  recordOptions(compile);
  if (!errors.empty()) {
    if (int rc = checkProgram(*compiler, job.source, compile)) return rc;
    return fail(errors);
  }
  if (isOpen) {
    binding = {}; // the files are read once more
    const auto start = Clock::now();
    if (auto f = session.compile(job.source, compile, !options.verbose)) return report(*f);
    RunTimes times;
    times.compileSeconds = secondsSince(start);
    return runLoaded(session, job.file, options, std::move(times));
  }
  RunTimes times;
  if (!signature->tunables.empty() && session.device().backend == std::string_view("cpu"))
    noteTuned(*compiler, job.source, compile, times);
  return runBound(session, binding, signature->kernel, options, std::move(times),
                  [&] { return session.compile(job.source, compile, !options.verbose); });
}

/// Runs a kernel of a bundle, or of IR.
int runArtifact(const Job &job, RunOptions options) {
  Session session;
  if (auto f = session.open(options.backend)) return report(*f);
  const tsr_device_info_t &device = session.device();
  std::string bundle;
  const bool isCpu = device.backend == std::string_view("cpu"); // for which the compiler asks the host
  const std::string target = isCpu ? "cpu" : device.arch;
  const auto start = Clock::now();
  if (int rc = bundleOf(job, target, bundle)) return rc;
  if (auto kernels = kernelsOf(bundle, job.file); !kernels) return fail(kernels.error());
  if (auto f = session.load(job.file, bundle, onlyKernel(job.options))) return report(*f);
  RunTimes times;
  times.compileSeconds = secondsSince(start);
  return runLoaded(session, job.file, std::move(options), std::move(times));
}

/// The backend's name with what --arch and --check add to it.
MaybeError chooseBackend(const Arguments &args, std::string &out) {
  out = args.value("backend");
  if (!args.has("arch") && !args.has("check")) return std::nullopt;
  if (out.empty()) out = tessera::environment("TESSERA_BACKEND");
  if (out.find(":emulated:") != std::string::npos && !args.has("arch")) { // it names the architecture, too
    if (!out.ends_with("+check")) out += "+check";
    return std::nullopt;
  }
  if (!out.ends_with(":emulated"))
    return Error{"E_OPTION_VALUE",
                 fmt::format("--{} is for emulated backends; the backend is {}",
                             args.has("arch") ? "arch" : "check", out.empty() ? "not named" : out),
                 "tsr backends lists them"};
  const std::string arch = args.has("arch") ? args.value("arch") : tessera::environment("TESSERA_ARCH");
  out += ":" + arch + (args.has("check") && !arch.ends_with("+check") ? "+check" : "");
  return std::nullopt;
}

int runMain(const Arguments &args, const std::string &commandLine) {
  if (args.positional().empty())
    return fail(Error{"E_NO_FILE", "no source file", fmt::format("usage: tsr run {}", runSpec.synopsis)});

  Job job{.commandLine = commandLine, .file = args.positional()[0], .source = {}, .options = {}};
  job.options.fileName = job.file;
  if (args.has("kernel")) job.options.kernels = {args.value("kernel")};
  if (auto e = chooseNumerics(args.value("numerics"), job.options)) return fail(*e);
  RunOptions options{
      .request = {args.named("in"), args.named("out"), args.named("scalar"), args.named("dim"),
                  args.named("set"), args.has("raw")},
      .backend = {},
      .mapper = args.value("mapper"),
      .timedRuns = 0,
      .verbose = args.has("verbose"),
      .json = args.has("json"),
  };
  if (auto e = chooseBackend(args, options.backend)) return fail(*e);
  constexpr int64_t mostRuns = 1'000'000;
  if (args.has("time") && (!parseInt(args.value("time"), options.timedRuns) || options.timedRuns < 1 ||
                           options.timedRuns > mostRuns))
    return fail(Error{"E_OPTION_VALUE",
                      fmt::format("--time {}: a number of runs from 1 to {}", args.value("time"), mostRuns),
                      ""});
  if (isArtifact(job.file)) {
    if (auto e = refuseOptions(args, job.file, {"set", "numerics", "mapper"})) return fail(*e);
    if (auto e = readArtifact(job)) return fail(*e);
    return supervise(job, [&] { return runArtifact(job, options); });
  }
  if (auto e = readSource(job.file, job.source)) return fail(*e);
  return supervise(job, [&] { return run(job, options); });
}

} // namespace

const Command runCommand = {runSpec, runMain};

} // namespace tessera::cli
