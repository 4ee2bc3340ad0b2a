// `tsr compile --emit bundle`: compiles every kernel of a file, for every target, into one file.
#include "tools/tsr/BundleCommand.h"
#include "core/support/OutputFile.h"
#include "core/tuning/TunedBodies.h"
#include "tools/tsr/Console.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= list.size();) {
    size_t comma = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

/// Reads --set and --dim, which apply to one kernel.
MaybeError readValues(const Arguments &args, const std::vector<Signature> &signatures,
                      CompileOptions &options) {
  if (!args.has("set") && !args.has("dim")) return std::nullopt;
  const Signature *signature = nullptr;
  if (auto e = chooseKernel(signatures, onlyKernel(options), signature)) return e;
  options.kernels = {signature->kernel};
  if (auto e = readNumbers(args.named("set"), "--set", *signature, checkTunable, options.tunables)) return e;
  return readNumbers(args.named("dim"), "--dim", *signature, checkDim, options.dims);
}

int compile(const Job &job, const Arguments &args) {
  CompilerService *compiler = needCompiler();
  if (!compiler) return exitUser; // it is not installed
  CompileOptions options = job.options;
  std::vector<Signature> signatures;
  std::vector<Diagnostic> diags;
  if (int rc =
          options.isIr ? 0 : conclude(compiler->signatures(job.source, job.file, signatures, diags), diags))
    return rc;
  const Signature *named = nullptr;
  if (!options.kernels.empty())
    if (auto e = chooseKernel(signatures, onlyKernel(options), named)) return fail(*e);
  if (auto e = readValues(args, signatures, options)) return fail(*e);
  recordOptions(options);
  diags.clear();
  std::string bytes;
  CompileStatus status;
  {
    const Progress progress("compiling " + job.file);
    if (int rc = decide(args, job.source, options)) return rc;
    findTuned(*compiler, job.source, options, diags);
    status = compiler->emit(job.source, options, Emit::Bundle, bytes, diags);
  }
  if (int rc = conclude(status, diags)) return rc;
  return writeResult(
      args.value("output", std::filesystem::path(job.file).replace_extension(".tsrb").string()), bytes);
}

} // namespace

int compileBundle(Job job, const Arguments &args) {
  CompileOptions &o = job.options;
  o.targets = split(args.value("target", "cpu"));
  if (args.has("embed-ir")) o.embedIr = split(args.value("embed-ir"));
  for (const std::string &level : o.embedIr)
    if (level != "graph" && level != "tile")
      return fail(Error{"E_OPTION_VALUE", fmt::format("--embed-ir {}: no such level", level),
                        suggest(level, {"graph", "tile"})});
  if (args.has("print-ir-after-all"))
    return fail(Error{"E_OPTION_VALUE", "--print-ir-after-all follows one kernel for one target",
                      "use it with --emit object"});
  if (args.value("output") == "-" && isatty(STDOUT_FILENO))
    return fail(Error{"E_OPTION_VALUE", "a bundle is not for a terminal", "give -o FILE"});
  return supervise(job, [&] { return compile(job, args); });
}

} // namespace tessera::cli
