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
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for (const auto &[name, value] : known) {
    names.push_back(name);
    values.push_back(value);
  }
  std::vector<std::string> open;
  for (const std::string &text : row.when) {
    if (!Guard::parse(text, s.dims)) return std::nullopt;
    if (Expected<Guard> guard = Guard::parse(text, names); !guard)
      open.push_back(text); // a dim in it is unknown
    else if (!guard->holds(values.data()))
      return std::nullopt;
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
  struct Found {
    const TunedRow *row;
    std::vector<std::string> open;
  };
  std::vector<Found> found;
  for (const TunedRow &row : known.rows) {
    if (row.kernel != kernel || row.arch != arch || row.numerics != options.numerics ||
        row.compiler != TESSERA_BUILD_ID || !fits(row.values, s))
      continue;
    std::optional<std::vector<std::string>> open = openConditions(row, s, options.dims);
    if (!open) continue;
    if (open->empty()) {
      options.tuned.push_back({target, s.kernel, {}, row.values});
      return;
    }
    found.push_back({&row, std::move(*open)});
  }
  std::ranges::sort(found, [](const Found &a, const Found &b) {
    return a.row->gain != b.row->gain ? a.row->gain > b.row->gain : a.row < b.row;
  });
  std::vector<const NamedValues *> bodies; // classes of sizes share them
  size_t taken = 0;
  for (Found &f : found) {
    const bool isKnown = std::ranges::any_of(bodies, [&](auto *other) { return *other == f.row->values; });
    if ((!isKnown && bodies.size() == kMostBodies) || taken == kMaxVariants - 1) continue;
    if (!isKnown) bodies.push_back(&f.row->values);
    ++taken;
    options.tuned.push_back({target, s.kernel, std::move(f.open), f.row->values});
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
  if (compiler.signatures(source, options.fileName, signatures, unsaid, options.supplied) !=
      CompileStatus::Ok)
    return;
  for (const Signature &s : signatures) {
    const bool isWanted =
        options.kernels.empty() || std::ranges::find(options.kernels, s.kernel) != options.kernels.end();
    if (s.tunables.empty() || !isWanted) continue;
    for (const std::string &target : options.targets)
      addBodies(s, target, *known, options);
  }
}

} // namespace tessera
