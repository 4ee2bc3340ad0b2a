#include "tools/tsr/Source.h"
#include "core/plugin/Mappers.h"
#include "core/plugin/Profiles.h"
#include "core/service/CompilerLoader.h"
#include "tools/options/Options.h"
#include "tools/tsr/Console.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <tessera/tessera.h>
#include <unistd.h>

namespace tessera::cli {

MaybeError readWhole(const std::string &path, size_t limit, std::string &text) {
  auto unreadable = [&](std::string_view why) {
    return Error{"E_FILE_READ", fmt::format("{}: {}", path, why), ""};
  };
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return unreadable(std::strerror(errno));
  text.clear();
  char buffer[65536];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, n);
    if (text.size() > limit) return unreadable(fmt::format("larger than {} MiB", limit >> 20));
  }
  if (std::ferror(file.get())) return unreadable(std::strerror(errno));
  return std::nullopt;
}

MaybeError readSource(const std::string &path, std::string &text) {
  if (auto e = readWhole(path, size_t(64) << 20, text)) return e;
  if (const size_t at = text.find('\0'); at != text.npos)
    return Error{"E_FILE_READ",
                 fmt::format("{}: line {} holds a NUL byte: this is no source text", path,
                             1 + std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n')),
                 ""};
  return std::nullopt;
}

void show(const std::vector<Diagnostic> &diags) {
  const bool colour = wantsColour(STDERR_FILENO);
  for (const Diagnostic &d : diags)
    say(render(d, colour));
}

int conclude(CompileStatus status, const std::vector<Diagnostic> &diags) {
  show(diags);
  const bool said = std::any_of(diags.begin(), diags.end(), [](const Diagnostic &d) {
    return d.severity == Diagnostic::Severity::Error;
  });
  switch (status) {
  case CompileStatus::Ok:
    return exitOk;
  case CompileStatus::BadProgram:
    return said ? exitUser : fail(Error{"E_INTERNAL", "the program was refused without a reason", ""}) + 1;
  case CompileStatus::Unimplemented:
    return said ? exitUser
                : fail(Error{"E_UNIMPLEMENTED", "this target lacks something the program needs", ""});
  case CompileStatus::BackendFailure:
    if (!said) fail(Error{"E_INTERNAL", "the compiler failed without a reason", ""});
    // A missing installation or a lack of memory is not a failure of the compiler: there is nothing to
    // reproduce.
    return !diags.empty() &&
                   (diags.front().code == "E_NO_COMPILER" || diags.front().code == "E_OUT_OF_MEMORY")
               ? exitUser
               : exitFailed;
  }
  return exitFailed;
}

CompilerService *needCompiler() {
  auto compiler = loadCompiler();
  if (compiler) return *compiler;
  fail(compiler.error());
  return nullptr;
}

Error lastError(const char *code) {
  Error error{code, tsrLastError(), ""};
  std::string &text = error.message;
  if (size_t at = text.find(": ["); text.starts_with("TSR_") && at != text.npos) text.erase(0, at + 2);
  if (size_t end = text.find("] "); text.starts_with("[") && end != text.npos) {
    error.code = text.substr(1, end - 1);
    text.erase(0, end + 2);
  }
  if (size_t at = text.find("\n  hint: "); at != text.npos) {
    error.hint = text.substr(at + 9);
    text.erase(at);
  }
  return error;
}

MaybeError chooseMapper(const std::string &spec) {
  if (spec.empty() || tsrSetMapper(spec.c_str()) == TSR_SUCCESS) return std::nullopt;
  Error error = lastError("E_MAPPER_FAILED");
  error.message.insert(0, "--mapper: ");
  return error;
}

int decide(const Arguments &args, std::string_view source, CompileOptions &options) {
  if (auto e = chooseMapper(args.value("mapper"))) return fail(*e);
  std::vector<Diagnostic> diags;
  if (decideVariants(source, options, diags) == TSR_SUCCESS) return exitOk;
  show(diags);
  return exitUser;
}

MaybeError chooseKernel(const std::vector<Signature> &signatures, const std::string &name,
                        const Signature *&out) {
  std::vector<std::string> names;
  for (const Signature &s : signatures) {
    names.push_back(s.kernel);
    if (s.kernel == name || (name.empty() && signatures.size() == 1)) {
      out = &s;
      return std::nullopt;
    }
  }
  if (names.empty())
    return Error{"E_KERNEL_UNKNOWN", "the file has no kernel", "mark a function with @ts.kernel"};
  if (name.empty())
    return Error{"E_KERNEL_UNKNOWN", fmt::format("the file has {} kernels", names.size()),
                 fmt::format("choose one with --kernel: {}", fmt::join(names, ", "))};
  return Error{"E_KERNEL_UNKNOWN", fmt::format("the file has no kernel {}", name), suggest(name, names)};
}

MaybeError checkTunable(const Signature &s, const std::string &name, const std::string &text,
                        int64_t &value) {
  std::vector<std::string> names;
  for (const auto &[tunable, space] : s.tunables) {
    names.push_back(tunable);
    if (tunable != name) continue;
    if (parseInt(text, value) && std::find(space.begin(), space.end(), value) != space.end())
      return std::nullopt;
    return Error{"E_TUNABLE_VALUE", fmt::format("{}={} is outside the declared space", name, text),
                 fmt::format("{} is one of {}", name, fmt::join(space, ", "))};
  }
  return Error{"E_TUNABLE_UNKNOWN", fmt::format("kernel {} has no tunable {}", s.kernel, name),
               suggest(name, names)};
}

MaybeError checkDim(const Signature &s, const std::string &name, const std::string &text, int64_t &value) {
  const bool isLeading = name == kLeadingDims && std::ranges::any_of(s.params, hasLeadingDims);
  if (!isLeading && std::find(s.dims.begin(), s.dims.end(), name) == s.dims.end())
    return Error{"E_DIM_UNKNOWN", fmt::format("kernel {} has no symbolic dim {}", s.kernel, name),
                 suggest(name, s.dims)};
  if (!parseInt(text, value) || value < 0)
    return Error{"E_OPTION_VALUE", fmt::format("--dim {}={}: a dim is a number from 0 up", name, text), ""};
  return std::nullopt;
}

MaybeError chooseNumerics(const std::string &asked, CompileOptions &out) {
  auto profile = chooseProfile(asked);
  if (!profile) return std::move(profile.error());
  out.numerics = profile->name;
  out.permits = profile->permits;
  return std::nullopt;
}

} // namespace tessera::cli
