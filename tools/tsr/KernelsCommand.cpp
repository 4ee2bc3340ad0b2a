// `tsr kernels`: lists the kernels of a source from their signatures, those of a bundle or of IR from their
// metadata.
#include "core/cache/CachedCompiler.h"
#include "tools/tsr/Artifact.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Json.h"
#include "tools/tsr/Source.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {
namespace {

const CommandSpec kernelsSpec = {
    "kernels",
    "FILE [--json]",
    "the kernels and functions of a file, with their parameters",
    "Lists the kernels and graph functions of FILE with parameters, dims and tunables. FILE is a "
    "source, a bundle (.tsrb) or IR (.mlir).",
    {{"json", 0, OptionSpec::Flag, "", "as a JSON document"}},
    1,
    "  tsr kernels samples/gemm/gemm.py\n"};

const char *access(const SignatureParam &p) {
  return p.reads && p.writes ? "readwrite" : p.writes ? "write" : "read";
}

/// JSON has no infinities and no NaN: they are written in the form that `--scalar` accepts.
Json defaultOf(const Number &number) {
  const auto *real = std::get_if<double>(&number);
  if (real && !std::isfinite(*real)) return fmt::format("{}", *real);
  return std::visit([](auto value) { return Json(value); }, number);
}

Json describe(const Signature &s) {
  Json params = Json::array(), tunables = Json::object();
  for (const SignatureParam &p : s.params) {
    Json j = {{"name", p.name},
              {"kind", !p.isTensor  ? "scalar"
                       : p.isResult ? "result"
                                    : "tensor"},
              {"dtype", p.dtype}};
    if (p.isTensor) {
      j["dims"] = p.dims;
      if (!p.strides.empty()) j["strides"] = p.strides;
      j["access"] = access(p);
    } else if (p.defaultValue) {
      j["default"] = defaultOf(*p.defaultValue);
    }
    params.push_back(std::move(j));
  }
  for (const auto &[name, space] : s.tunables)
    tunables[name] = space;
  return {{"name", s.kernel},
          {"kind", s.isGraphFunction ? "function" : "kernel"},
          {"params", params},
          {"dims", s.dims},
          {"tunables", tunables}};
}

std::string line(const SignatureParam &p) {
  if (p.isTensor)
    return fmt::format("  {:<12} {}[{}], {}{}\n", p.name, p.dtype, fmt::join(p.dims, ", "), access(p),
                       p.strides.empty() ? "" : fmt::format(", strides [{}]", fmt::join(p.strides, ", ")));
  return fmt::format("  {:<12} {}{}\n", p.name, p.dtype,
                     p.defaultValue
                         ? std::visit([](auto value) { return fmt::format(" = {}", value); }, *p.defaultValue)
                         : std::string());
}

std::string text(const Signature &s) {
  std::string out = fmt::format("{}{}\n", s.kernel, s.isGraphFunction ? " (function)" : "");
  for (const SignatureParam &p : s.params)
    out += line(p);
  for (const auto &[name, space] : s.tunables)
    out += fmt::format("  {:<12} one of {}\n", name, fmt::join(space, ", "));
  return out;
}

int kernels(const Arguments &args, const std::string &) {
  if (args.positional().empty())
    return fail(
        Error{"E_NO_FILE", "no source file", fmt::format("usage: tsr kernels {}", kernelsSpec.synopsis)});
  const std::string &file = args.positional()[0];
  std::vector<Signature> signatures;
  if (isArtifact(file)) {
    Job job{.commandLine = {}, .file = file, .source = {}, .options = {}};
    job.options.fileName = file;
    if (auto e = readArtifact(job)) return fail(*e);
    std::string bundle;
    if (int rc = bundleOf(job, "cpu", bundle)) return rc;
    auto kernels = kernelsOf(bundle, file);
    if (!kernels) return fail(kernels.error());
    for (const KernelMetadata &m : *kernels)
      signatures.push_back(signatureOf(m));
  } else {
    std::string source;
    if (auto e = readSource(file, source)) return fail(*e);
    std::vector<Diagnostic> diags;
    if (int rc = conclude(cachedCompiler()->signatures(source, file, signatures, diags), diags)) return rc;
  }
  if (args.has("json")) {
    Json list = Json::array();
    for (const Signature &s : signatures)
      list.push_back(describe(s));
    printJson(list);
  } else {
    for (const Signature &s : signatures)
      fmt::print("{}", text(s));
  }
  return exitOk;
}

} // namespace

const Command kernelsCommand = {kernelsSpec, kernels};

} // namespace tessera::cli
