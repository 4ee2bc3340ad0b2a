#include "numerics/NumericsProfile.h"
#include <algorithm>

namespace tessera {
namespace {

// The columns are in the order of NumericsPermissions: contraction, reassociation, approximate,
// reducedMultiply, unorderedAtomics, fixedReductions, frozenTunables.
constexpr BuiltinProfile kProfiles[] = {
    {"fast", {true, true, true, true, true, false, false}},
    {"standard", {true, false, false, false, true, false, false}},
    {"deterministic", {true, false, false, false, false, false, false}},
    {"strict", {false, false, false, false, false, true, true}},
};

struct Permission {
  const char *name;
  bool NumericsPermissions::*field;
};
constexpr Permission kPermissions[] = {
    {"contraction", &NumericsPermissions::contraction},
    {"reassociation", &NumericsPermissions::reassociation},
    {"approximate", &NumericsPermissions::approximate},
    {"reduced_multiply", &NumericsPermissions::reducedMultiply},
    {"unordered_atomics", &NumericsPermissions::unorderedAtomics},
    {"fixed_reductions", &NumericsPermissions::fixedReductions},
    {"frozen_tunables", &NumericsPermissions::frozenTunables},
};

} // namespace

std::span<const BuiltinProfile> builtinProfiles() { return kProfiles; }

const NumericsPermissions *builtinProfile(std::string_view name) {
  for (const BuiltinProfile &row : kProfiles)
    if (name == row.name) return &row.permits;
  return nullptr;
}

bool isProfileName(std::string_view name) {
  auto isLetter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= 64 && isLetter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return isLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
}

std::vector<std::string> permissionNames(const NumericsPermissions &permits) {
  std::vector<std::string> out;
  for (const Permission &p : kPermissions)
    if (permits.*p.field) out.emplace_back(p.name);
  return out;
}

bool parsePermissions(const std::vector<std::string> &names, NumericsPermissions &out, std::string &unknown) {
  out = {};
  for (const std::string &name : names) {
    auto it = std::find_if(std::begin(kPermissions), std::end(kPermissions),
                           [&](const Permission &p) { return name == p.name; });
    if (it == std::end(kPermissions)) return unknown = name, false;
    out.*it->field = true;
  }
  return true;
}

} // namespace tessera
