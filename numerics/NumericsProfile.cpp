#include "numerics/NumericsProfile.h"

namespace tessera {
namespace {

using P = NumericsProfile;

// Rows stand in the order of the enumeration. Columns as in NumericsPermissions: contraction, reassociation,
// approximate, reducedMultiply, unorderedAtomics, fixedReductions, frozenTunables, libraryCalls.
constexpr NumericsPermissions kTable[] = {
    {P::Fast, "fast", true, true, true, true, true, false, false, true},
    {P::Standard, "standard", true, false, false, false, true, false, false, true},
    {P::Deterministic, "deterministic", true, false, false, false, false, false, false, false},
    {P::Strict, "strict", false, false, false, false, false, true, true, false},
};

} // namespace

const NumericsPermissions &permissions(NumericsProfile p) { return kTable[static_cast<size_t>(p)]; }

std::span<const NumericsPermissions> allNumericsProfiles() { return kTable; }

std::optional<NumericsProfile> parseNumericsProfile(std::string_view text) {
  for (const NumericsPermissions &row : kTable)
    if (text == row.name) return row.profile;
  return std::nullopt;
}

} // namespace tessera
