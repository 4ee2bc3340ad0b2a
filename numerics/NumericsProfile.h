// Numerics profiles (decision D11): what a compiler and a runtime may do to floating-point arithmetic.
//
// A profile is chosen per kernel. Passes and code generators ask for single permissions, never for a profile
// by name, so that a profile is defined in one place: the table in NumericsProfile.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

enum class NumericsProfile : uint8_t {
  Fast,          // speed before accuracy
  Standard,      // the default: IEEE operations, contraction allowed
  Deterministic, // same artifact, same device: same bits, whatever thread count, overlap or arrival order
  Strict, // same bits on every backend, instruction set, tile configuration, thread count and rank count
};

struct NumericsPermissions {
  NumericsProfile profile;
  const char *name;
  bool contraction;      // a * b + c may become an fma of its own accord
  bool reassociation;    // sums may be regrouped beyond the order their reduction defines
  bool approximate;      // functions may exceed the documented ulps; reciprocals may replace divisions
  bool reducedMultiply;  // f32 matmul operands may be rounded to tf32 where the hardware gains from it
  bool unorderedAtomics; // float atomics may land in any order
  bool fixedReductions;  // reductions follow the tree of decision D12 whatever the tiling
  bool frozenTunables;   // a tunable that would alter a reduction keeps its first value
  bool libraryCalls;     // a product may come from a library, whose order of summation is its own
};

/// What a profile permits; never fails. Pure and thread-safe, as all functions here.
const NumericsPermissions &permissions(NumericsProfile);
inline const char *name(NumericsProfile p) { return permissions(p).name; }

/// All profiles, from the freest to the strictest.
std::span<const NumericsPermissions> allNumericsProfiles();

/// "fast", "standard", "deterministic" or "strict"; nullopt for anything else.
std::optional<NumericsProfile> parseNumericsProfile(std::string_view);

/// Elements per leaf of the fixed reduction tree: a leaf accumulates in index order, leaves combine pairwise
/// (D12).
inline constexpr int64_t kReductionLeaf = 256;

} // namespace tessera
