#include "tools/tsr/Artifact.h"
#include "core/bundle/Rules.h"
#include "tools/tsr/Console.h"
#include "tools/tsr/Source.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace tessera::cli {
namespace {

bool isIr(const std::string &file) { return std::filesystem::path(file).extension() == ".mlir"; }

} // namespace

bool isArtifact(const std::string &file) {
  return isIr(file) || std::filesystem::path(file).extension() == ".tsrb";
}

MaybeError refuseOptions(const Arguments &args, const std::string &file,
                         std::initializer_list<const char *> options) {
  for (const char *option : options)
    if (args.has(option))
      return Error{"E_OPTION_VALUE",
                   fmt::format("--{} is for sources; {} is {}, where that is decided", option, file,
                               isIr(file) ? "IR" : "compiled"),
                   "give it when the source is compiled"};
  return std::nullopt;
}

MaybeError readArtifact(Job &job) {
  job.options.isIr = isIr(job.file);
  return job.options.isIr ? readSource(job.file, job.source)
                          : readWhole(job.file, kMaxBundleBytes, job.source);
}

int bundleOf(const Job &job, const std::string &target, std::string &bytes) {
  if (!job.options.isIr) {
    bytes = job.source;
    return exitOk;
  }
  CompilerService *compiler = needCompiler();
  if (!compiler) return exitUser; // it is not installed
  CompileOptions options = job.options;
  options.targets = {target};
  recordOptions(options);
  std::vector<Diagnostic> diags;
  const Progress progress("compiling " + job.file);
  return conclude(compiler->emit(job.source, options, Emit::Bundle, bytes, diags), diags);
}

Expected<std::vector<KernelMetadata>> kernelsOf(const std::string &bytes, const std::string &file) {
  Bundle bundle;
  BundleError error;
  if (!readBundle(bytes, file, bundle, error)) return Error{error.code, error.message, error.hint};
  std::vector<KernelMetadata> kernels;
  if (bundle.images.empty()) return kernels;
  for (const BundleEntry &entry : bundle.images.front().entries) {
    KernelMetadata m;
    std::string why;
    if (!KernelMetadata::fromYaml(entry.metadata, m, why))
      return Error{"E_BUNDLE_CORRUPT", fmt::format("{}: metadata of {}: {}", file, entry.name, why),
                   "compile the file again"};
    if (m.name.find('.') == m.name.npos) kernels.push_back(std::move(m)); // else a function launches it
  }
  return kernels;
}

Signature signatureOf(const KernelMetadata &m) {
  using Kind = MetadataParam::Kind;
  Signature out;
  out.kernel = m.name;
  out.isGraphFunction = m.plan.has_value();
  for (const MetadataParam &p : m.params) {
    if (p.kind == Kind::Dim) {
      out.dims.push_back(p.name);
      continue;
    }
    SignatureParam s;
    s.name = p.name;
    s.isTensor = p.kind != Kind::Scalar;
    s.isResult = p.kind == Kind::Result;
    s.reads = p.reads, s.writes = p.writes;
    s.dtype = name(p.dtype);
    s.dims = p.dims;
    s.strides = p.strides;
    s.defaultValue = p.defaultValue;
    out.params.push_back(std::move(s));
  }
  return out;
}

} // namespace tessera::cli
