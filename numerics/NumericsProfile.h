// Numerics profiles (decision D11): the changes that a compiler and a runtime may make to floating-point
// arithmetic.
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
  bool contraction = false;     // a * b + c may become an fma that the program did not ask for
  bool reassociation = false;   // sums may be regrouped beyond the order their reduction defines
  bool approximate = false;     // functions may exceed the documented ulps; reciprocals may replace divisions
  bool reducedMultiply = false; // f32 matmul operands may be rounded to tf32 if the hardware gains from it
  bool unorderedAtomics = false; // float atomics may be performed in any order
  bool fixedReductions = false;  // sums have one documented order, whatever the tiling and the target
  bool frozenTunables = false;   // a tunable that would alter a reduction keeps its first value

  /// Returns whether a product may come from a library, whose order of summation is unknown: it may if sums
  /// need not be reproducible.
  bool libraryCalls() const { return unorderedAtomics && !fixedReductions; }
  bool operator==(const NumericsPermissions &) const = default;
};

struct BuiltinProfile {
  const char *name;
  NumericsPermissions permits;
};

/// Returns the built-in profiles, from the most to the least permissive. Like all functions here, it is pure
/// and thread-safe.
std::span<const BuiltinProfile> builtinProfiles();

/// Returns the permissions of "fast", "standard", "deterministic" or "strict"; null for any other name.
const NumericsPermissions *builtinProfile(std::string_view name);

/// Returns whether a profile may have that name: 1 to 64 of a-z, 0-9, - and _, beginning with a letter.
bool isProfileName(std::string_view name);

/// Returns the permissions as names in the order of the struct: "contraction", "unordered_atomics".
std::vector<std::string> permissionNames(const NumericsPermissions &);
/// Parses such names. Stores an unknown name in `unknown` and returns false.
[[nodiscard]] bool parsePermissions(const std::vector<std::string> &names, NumericsPermissions &out,
                                    std::string &unknown);

/// The fixed orders of `fixed_reductions` (docs/strict.md; numerics/ReductionTree.h computes them).
/// Products, and sums along another axis than the last, have leaves of so many terms in index order. Sums
/// along the last axis have blocks, in which element i belongs to lane i mod kReductionLanes. Leaves and
/// blocks are joined pairwise.
inline constexpr int64_t kReductionLeaf = 256, kReductionBlock = 1024, kReductionLanes = 64;

} // namespace tessera
