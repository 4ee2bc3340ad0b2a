// Numerics profiles (decision D11): what a compiler and a runtime may do to floating-point arithmetic.
//
// A profile is chosen per compilation. Passes and code generators ask for single permissions, never for a
// profile by name, so that plugins can bring profiles of their own (core/plugin/Profiles.h).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The fields of tsr_numerics_profile_t.
struct NumericsPermissions {
  bool contraction = false;     // a * b + c may become an fma of its own accord
  bool reassociation = false;   // sums may be regrouped beyond the order their reduction defines
  bool approximate = false;     // functions may exceed the documented ulps; reciprocals may replace divisions
  bool reducedMultiply = false; // f32 matmul operands may be rounded to tf32 where the hardware gains from it
  bool unorderedAtomics = false; // float atomics may land in any order
  bool fixedReductions = false;  // reductions follow the tree of decision D12 whatever the tiling
  bool frozenTunables = false;   // a tunable that would alter a reduction keeps its first value

  /// May a product come from a library, whose order of summation is its own? Where sums need not come out the
  /// same twice.
  bool libraryCalls() const { return unorderedAtomics && !fixedReductions; }
  bool operator==(const NumericsPermissions &) const = default;
};

struct BuiltinProfile {
  const char *name;
  NumericsPermissions permits;
};

/// The profiles that are always there, from the freest to the strictest. Pure and thread-safe, as all
/// functions here.
std::span<const BuiltinProfile> builtinProfiles();

/// What "fast", "standard", "deterministic" or "strict" permits; null for anything else.
const NumericsPermissions *builtinProfile(std::string_view name);

/// May a profile be called that? 1 to 64 of a-z, 0-9, - and _, a letter first.
bool isProfileName(std::string_view name);

/// What is permitted, as names in the order of the struct: "contraction", "unordered_atomics".
std::vector<std::string> permissionNames(const NumericsPermissions &);
/// The other way; false at a name that is none, which is left in `unknown`.
[[nodiscard]] bool parsePermissions(const std::vector<std::string> &names, NumericsPermissions &out,
                                    std::string &unknown);

/// Elements per leaf of the fixed reduction tree: a leaf accumulates in index order, leaves combine pairwise
/// (D12).
inline constexpr int64_t kReductionLeaf = 256;

} // namespace tessera
