// `tsr compile`: stops at one stage and writes its output.
#include "core/plugin/KnownBackends.h"
#include "core/support/Escaped.h"
#include "core/support/OutputFile.h"
#include "core/tuning/TunedBodies.h"
#include "tools/options/Options.h"
#include "tools/tsr/BundleCommand.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/Source.h"
#include "tools/tsr/Supervisor.h"
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace tessera::cli {

MaybeError readNumbers(const std::vector<NamedValue> &given, const char *option, const Signature &signature,
                       decltype(checkDim) check, std::vector<std::pair<std::string, int64_t>> &out) {
  for (const auto &[name, text] : given) {
    int64_t value;
    if (auto e = check(signature, name, text, value)) return e;
    for (const auto &[other, _] : out)
      if (other == name) return Error{"E_ARG_DUPLICATE", fmt::format("{} names {} twice", option, name), ""};
    out.emplace_back(name, value);
  }
  return std::nullopt;
}

int writeResult(const std::string &path, const std::string &text) {
  if (path.empty() || path == "-") {
    bool ok = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return ok ? exitOk : fail(Error{"E_OUTPUT_WRITE", "standard output cannot be written to", ""});
  }
  MaybeError error = writeFile(path, text);
  if (!error) return exitOk;
  error->message = fmt::format("{}: {}", path, error->message);
  return fail(*error);
}

namespace {

std::string_view targetHelp() {
  static const std::string text = [] {
    std::vector<std::string_view> kinds;
    for (const KnownBackend &backend : knownBackends())
      if (!backend.pciVendors.empty()) kinds.push_back(backend.name);
    return fmt::format("cpu (default: this machine's), cpu:skylake-avx512, cpu:x86-64-v3, ..., or KIND:ARCH "
                       "with KIND one of {} or a codegen plugin (an unknown ARCH lists them); for a bundle a "
                       "list: A,B,...",
                       fmt::join(kinds, ", "));
  }();
  return text;
}

const CommandSpec compileSpec = {
    "compile",
    "FILE --emit STAGE [options]",
    "stop at one stage and write it: IR, assembly, object code, metadata, a bundle",
    "Compiles one kernel or graph function as far as STAGE and writes it to standard output or to a file. "
    "FILE.mlir\n"
    "is IR that --emit graph, schedule or tile wrote, edited or not; compilation goes on from there. A "
    "bundle holds every "
    "kernel\n"
    "of FILE (or the one named) for every target; it goes to FILE.tsrb in place of FILE.py.",
    {
        {"emit",
         0,
         OptionSpec::Value,
         "STAGE",
         "graph, schedule, tile, target, asm, object, metadata or bundle",
         {"graph", "schedule", "tile", "target", "asm", "object", "metadata", "bundle"}},
        {"output", 'o', OptionSpec::Value, "FILE", "write there instead of to standard output"},
        {"kernel", 0, OptionSpec::Value, "KERNEL", "which kernel; may be left out where there is one"},
        {"target", 0, OptionSpec::Value, "TARGET", targetHelp()},
        {"numerics",
         0,
         OptionSpec::Value,
         "PROFILE",
         "fast, standard, deterministic, strict or a plugin's (default: TESSERA_NUMERICS, or standard)",
         {"fast", "standard", "deterministic", "strict"}},
        {"set", 0, OptionSpec::Named, "NAME=VALUE", "a tunable's value, from its declared space"},
        {"dim", 0, OptionSpec::Named, "NAME=VALUE", "a dim the kernel may be specialised on"},
        {"exact-dims", 0, OptionSpec::Flag, "",
         "only code for the values of --dim: none of a graph function for others"},
        {"fusion",
         0,
         OptionSpec::Value,
         "WHICH",
         "auto (default), or none: every operation of a graph function is a kernel of its own",
         {"auto", "none"}},
        {"mapper",
         0,
         OptionSpec::Value,
         "MAPPER",
         "who chooses what the program leaves open: NAME or NAME(ARGUMENTS) (default: TESSERA_MAPPER)",
         {"default", "logging"}},
        {"embed-ir",
         0,
         OptionSpec::Value,
         "LEVEL,...",
         "bundle: IR to keep for machines no image fits: graph, tile",
         {"graph", "tile"}},
        {"print-ir-after-all", 0, OptionSpec::OptionalValue, "DIR",
         "write a numbered snapshot after every pass (default: ./ir-KERNEL)"},
    },
    1,
    "  tsr compile samples/gemm/gemm.py --emit tile\n"
    "  tsr compile samples/saxpy/saxpy.py --emit asm --target cpu:skylake-avx512 -o saxpy.s\n"
    "  tsr compile samples/softmax/softmax.py --emit metadata --set ROWS=4\n"
    "  tsr compile samples/saxpy/saxpy.py --emit bundle --target cpu:x86-64-v2,cpu:x86-64-v3 -o saxpy.tsrb\n",
};

struct Stage {
  std::string_view name;
  Emit emit;
};
constexpr Stage stages[] = {{"graph", Emit::Graph},      {"schedule", Emit::Schedule},
                            {"tile", Emit::Tile},        {"target", Emit::Target},
                            {"asm", Emit::Assembly},     {"object", Emit::Object},
                            {"metadata", Emit::Metadata}};

int compile(const Job &job, Emit what, const Arguments &args) {
  CompilerService *compiler = needCompiler();
  if (!compiler) return exitUser; // it is not installed
  CompileOptions options = job.options;
  std::vector<Diagnostic> diags;
  std::string name = std::filesystem::path(job.file).stem().string();
  if (!options.isIr) {
    std::vector<Signature> signatures;
    if (int rc = conclude(compiler->signatures(job.source, job.file, signatures, diags), diags)) return rc;
    const Signature *signature = nullptr;
    if (auto e = chooseKernel(signatures, onlyKernel(options), signature)) return fail(*e);
    if (auto e = readNumbers(args.named("set"), "--set", *signature, checkTunable, options.tunables))
      return fail(*e);
    if (auto e = readNumbers(args.named("dim"), "--dim", *signature, checkDim, options.dims)) return fail(*e);
    name = signature->kernel;
    options.kernels = {name};
  }
  if (options.printIrAfterAll == ".") options.printIrAfterAll = fmt::format("ir-{}", name);
  recordOptions(options);
  std::error_code error;
  if (!options.printIrAfterAll.empty() &&
      !std::filesystem::create_directories(options.printIrAfterAll, error) && error)
    return fail(Error{"E_OUTPUT_WRITE", fmt::format("{}: {}", options.printIrAfterAll, error.message()), ""});

  std::string text;
  diags.clear();
  CompileStatus status;
  {
    const Progress progress("compiling " + name);
    if (what != Emit::Graph)
      if (int rc = decide(args, job.source, options)) return rc;
    findTuned(*compiler, job.source, options, diags);
    status = compiler->emit(job.source, options, what, text, diags);
  }
  if (int rc = conclude(status, diags)) return rc;
  if (!options.printIrAfterAll.empty())
    say(fmt::format("tsr: IR snapshots in {}\n", escaped(options.printIrAfterAll)));
  return writeResult(args.value("output"), text);
}

int compileMain(const Arguments &args, const std::string &commandLine) {
  if (args.positional().empty())
    return fail(
        Error{"E_NO_FILE", "no source file", fmt::format("usage: tsr compile {}", compileSpec.synopsis)});

  const std::string emit = args.value("emit");
  std::vector<std::string> names = {"bundle"};
  const Stage *stage = nullptr;
  for (const Stage &s : stages) {
    names.emplace_back(s.name);
    if (s.name == emit) stage = &s;
  }
  if (!stage && emit != "bundle")
    return fail(Error{"E_OPTION_VALUE",
                      emit.empty() ? "--emit is missing" : fmt::format("there is no stage {}", emit),
                      suggest(emit, names)});

  Job job{.commandLine = commandLine, .file = args.positional()[0], .source = {}, .options = {}};
  if (auto e = readSource(job.file, job.source)) return fail(*e);
  CompileOptions &o = job.options;
  o.fileName = job.file;
  if (args.has("kernel")) o.kernels = {args.value("kernel")};
  if (auto e = chooseNumerics(args.value("numerics"), o)) return fail(*e);
  o.fuse = args.value("fusion", "auto") == "auto";
  o.exactDims = args.has("exact-dims");
  if (std::filesystem::path(job.file).extension() == ".mlir") {
    for (const char *option : {"kernel", "numerics", "set", "dim", "exact-dims", "fusion"})
      if (args.has(option))
        return fail(
            Error{"E_OPTION_VALUE",
                  fmt::format("--{} is for sources; {} is IR, where that is decided", option, job.file),
                  "edit the IR, or compile the source"});
    o.isIr = true;
  }
  if (emit == "bundle") return compileBundle(std::move(job), args);
  if (args.has("embed-ir"))
    return fail(Error{"E_OPTION_VALUE", "--embed-ir is for bundles", "use it with --emit bundle"});
  o.targets = {args.value("target", "cpu")};
  if (args.has("print-ir-after-all"))
    o.printIrAfterAll = args.value("print-ir-after-all").empty() ? "." : args.value("print-ir-after-all");
  const std::string output = args.value("output");
  if (stage->emit == Emit::Object && (output.empty() || output == "-") && isatty(STDOUT_FILENO))
    return fail(Error{"E_OPTION_VALUE", "object code is not for a terminal", "give -o FILE"});
  return supervise(job, [&] { return compile(job, stage->emit, args); });
}

} // namespace

const Command compileCommand = {compileSpec, compileMain};

} // namespace tessera::cli
