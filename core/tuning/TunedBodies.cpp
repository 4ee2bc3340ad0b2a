#include "core/tuning/TunedBodies.h"
#include "core/metadata/Guard.h"
#include "core/metadata/Variants.h"
#include "core/service/BuildId.h"
#include "core/tuning/TunedFile.h"
#include <algorithm>
#include <atomic>

namespace tessera {
namespace {

constexpr size_t kMostBodies = 3; // beside the default

/// Does the configuration give each tunable a value of its space?
bool fits(const NamedValues &values, const Signature &s) {
  return values.size() == s.tunables.size() && std::ranges::all_of(s.tunables, [&](const auto &tunable) {
           return std::ranges::any_of(values, [&](const auto &value) {
             return value.first == tunable.first &&
                    std::ranges::find(tunable.second, value.second) != tunable.second.end();
           });
         });
}

/// Returns the conditions that the known ones of the kernel's dims leave open; nullopt: one does not hold, or
/// names something else.
std::optional<std::vector<std::string>> openConditions(const TunedRow &row, const Signature &s,
                                                       const NamedValues &known) {
  std::vector<IndexExpr> from, to;
  for (const std::string &name : s.dims) {
    const auto value = std::ranges::find(known, name, &NamedValues::value_type::first);
    from.push_back(IndexExpr::symbol(name));
    to.push_back(value == known.end() ? from.back() : IndexExpr::constant(value->second));
  }
  std::vector<std::string> open;
  for (const std::string &text : row.when) {
    Expected<Guard> guard = Guard::parse(text);
    if (!guard) return std::nullopt; // readTuned refuses it
    Expected<Guard> bound = guard->replace(from, to);
    if (!bound) return std::nullopt;
    const std::optional<bool> holds = bound->asConstant();
    if (holds == false) return std::nullopt;
    if (!holds) open.push_back(text);
  }
  return open;
}

void reportFault(const Error &error, const std::string &file, std::vector<Diagnostic> &diags) {
  static std::atomic_flag isReported = ATOMIC_FLAG_INIT;
  if (isReported.test_and_set()) return;
  Diagnostic d;
  d.severity = Diagnostic::Severity::Warning;
  d.code = error.code;
  d.message = "tuned configurations are not used: " + error.message;
  d.hint = error.hint;
  d.file = file;
  diags.push_back(std::move(d));
}

/// Adds the bodies of one kernel for one target, largest gain first. A configuration whose conditions all
/// hold replaces the default.
void addBodies(const Signature &s, const std::string &target, const TunedRows &known,
               CompileOptions &options) {
  const std::string kernel = tunedKernelOf(s), arch = tunedArchOf(target);
  std::vector<std::pair<double, TunedBody>> found;
  for (const TunedRow &row : known.rows) {
    if (row.kernel != kernel || row.arch != arch || row.numerics != options.numerics ||
        row.compiler != TESSERA_BUILD_ID || !fits(row.values, s))
      continue;
    std::optional<std::vector<std::string>> open = openConditions(row, s, options.dims);
    if (!open) continue;
    TunedBody body{target, s.kernel, std::move(*open), row.values};
    if (body.when.empty()) {
      options.tuned.push_back(std::move(body));
      return;
    }
    found.emplace_back(row.gain, std::move(body));
  }
  std::ranges::stable_sort(found, std::greater<>(), &std::pair<double, TunedBody>::first);
  std::vector<NamedValues> bodies; // classes of sizes share them
  size_t taken = 0;
  for (auto &[gain, body] : found) {
    const bool isKnown = std::ranges::find(bodies, body.values) != bodies.end();
    if ((!isKnown && bodies.size() == kMostBodies) || taken == kMaxVariants - 1) continue;
    if (!isKnown) bodies.push_back(body.values);
    ++taken;
    options.tuned.push_back(std::move(body));
  }
}

} // namespace

void findTuned(CompilerService &compiler, std::string_view source, CompileOptions &options,
               std::vector<Diagnostic> &diags) {
  const NumericsPermissions *builtin = builtinProfile(options.numerics);
  const NumericsPermissions permits = options.permits ? *options.permits
                                      : builtin       ? *builtin
                                                      : NumericsPermissions();
  if (options.isIr || !options.tunables.empty() || permits.frozenTunables) return;
  const std::shared_ptr<const TunedRows> known = tunedRows();
  if (known->error) reportFault(*known->error, options.fileName, diags);
  if (known->rows.empty()) return;
  std::vector<Signature> signatures;
  std::vector<Diagnostic> unsaid; // the compilation reports them
  if (compiler.signatures(source, options.fileName, signatures, unsaid) != CompileStatus::Ok) return;
  for (const Signature &s : signatures) {
    const bool isWanted =
        options.kernels.empty() || std::ranges::find(options.kernels, s.kernel) != options.kernels.end();
    if (s.tunables.empty() || !isWanted) continue;
    for (const std::string &target : options.targets)
      addBodies(s, target, *known, options);
  }
}

} // namespace tessera
