// Answers choose_variant for programs that are being compiled.
#include "core/cache/CachedCompiler.h"
#include "core/library/Blas.h"
#include "core/support/HostCpu.h"
#include "mapper/host/Decisions.h"
#include "mapper/host/Host.h"
#include <algorithm>

namespace tessera::mapping {
namespace {

/// Removes libraries that are not installed from the legal variants, whatever the program permits.
void dropMissingLibraries(VariantChoice &choice) {
  auto blas = std::find(choice.variants.begin(), choice.variants.end(), "blas");
  std::string why;
  if (blas == choice.variants.end() || findBlas(why)) return;
  choice.variants.erase(blas);
  choice.refused.emplace_back("blas", why);
}

std::string archOf(const std::string &target) { return target == "cpu" ? hostCpuTarget() : target; }

void report(const Failure &f, const std::string &file, const VariantChoice *choice,
            std::vector<Diagnostic> &diags) {
  Diagnostic d;
  d.code = f.code;
  d.message = f.message;
  d.hint = f.hint;
  d.file = file;
  if (choice) d.line = choice->line, d.col = choice->col, d.endCol = choice->col + 1;
  diags.push_back(std::move(d));
}

std::string lineOf(std::string_view source, uint32_t number) {
  for (uint32_t i = 1; i < number; ++i) {
    size_t end = source.find('\n');
    if (end == source.npos) return "";
    source.remove_prefix(end + 1);
  }
  return std::string(source.substr(0, source.find('\n')));
}

} // namespace

tsr_status_t decideVariants(std::string_view source, CompileOptions &options,
                            std::vector<Diagnostic> &diags) {
  std::vector<VariantChoice> choices;
  const VariantChoice *asked = nullptr; // the choice that was asked last
  try {
    const std::shared_ptr<Host> host = current();
    if (!host) return TSR_SUCCESS;
    const size_t before = diags.size();
    if (cachedCompiler()->choices(source, options, choices, diags) != CompileStatus::Ok) {
      diags.resize(before); // compile() reports them
      return TSR_SUCCESS;
    }
    for (VariantChoice &choice : choices) {
      asked = &choice;
      dropMissingLibraries(choice);
      const std::string where = choice.line ? choice.file + ":" + std::to_string(choice.line) : "";
      Mapper::Choice answer =
          host->chooseVariant({choice.op, archOf(choice.target), choice.dtype, choice.variants, choice.dims},
                              where, choice.refused);
      options.decisions.push_back(
          {choice.target, choice.id, answer.name, choice.variants, host->name(), answer.predictedNs});
    }
    return TSR_SUCCESS;
  } catch (const Failure &f) {
    report(f, options.fileName, asked, diags);
    if (asked && asked->line && !options.isIr) diags.back().sourceLine = lineOf(source, asked->line);
    return f.status == TSR_EIO ? TSR_EINVAL : f.status;
  }
}

} // namespace tessera::mapping
