// Checks of numerics profiles: a table of names and permissions.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Subject.h"
#include <set>
#include <vector>

namespace tessera::kit {
namespace {

constexpr uint32_t kMost = 256;

std::vector<tsr_numerics_profile_t> profilesOf(Subject &s) {
  std::vector<tsr_numerics_profile_t> out;
  const auto *api = s.info().numerics;
  for (uint32_t i = 0; i <= kMost; ++i) {
    tsr_numerics_profile_t p{};
    p.struct_size = sizeof p;
    const int32_t status = api->profile(i, &p);
    if (status == TSR_ENOTFOUND) return out;
    expect(status == TSR_SUCCESS, "TSR_SUCCESS of a profile, TSR_ENOTFOUND past the last",
           statusName(status));
    out.push_back(p);
  }
  throw Failure{"TSR_ENOTFOUND past the last profile", "more than " + std::to_string(kMost) + " profiles",
                ""};
}

void profileListed(Subject &s) {
  std::set<std::string> names;
  for (const auto &p : profilesOf(s)) {
    expect(p.name && *p.name, "a profile's name", "none");
    expect(names.insert(p.name).second, "a name of its own for each profile", std::string(p.name) + " twice");
  }
  expect(!names.empty(), "a profile at least", "none");
}

void permissions(Subject &s) {
  for (const auto &p : profilesOf(s)) {
    for (int value : {p.contraction, p.reassociation, p.approximate, p.reduced_multiply, p.unordered_atomics,
                      p.fixed_reductions, p.frozen_tunables})
      expect(value == 0 || value == 1, "1 or 0 for each permission", std::to_string(value));
    expectEqual(p.reserved, 0, "reserved");
    expect(!(p.reassociation && p.fixed_reductions),
           "sums that may be regrouped, or follow a fixed tree, not both", std::string(p.name) + " has both");
  }
}

void profilePure(Subject &s) {
  const auto first = profilesOf(s), second = profilesOf(s);
  expectEqual(second.size(), first.size(), "as many profiles as at first,");
  for (size_t i = 0; i < first.size(); ++i)
    expect(std::string(first[i].name) == second[i].name && first[i].contraction == second[i].contraction,
           "the same answer twice", "another");
}

void profileInBounds(Subject &s) {
  for (size_t size : {size_t{8}, size_t{16}, sizeof(tsr_numerics_profile_t) + 32}) {
    Guarded out(size);
    out.as<tsr_numerics_profile_t>().struct_size = size;
    (void)s.info().numerics->profile(0, &out.as<tsr_numerics_profile_t>());
    out.expectUntouched("profile", "write with tessera::thunk::copyOut");
  }
}

constexpr Check kProfilesChecks[] = {
    {"profiles.listed", "Profiles are counted from 0, each with a name of its own.", profileListed,
     Needs::Slotted},
    {"profiles.permissions", "Permissions are 1 or 0 and do not contradict each other.", permissions,
     Needs::Slotted},
    {"profiles.pure", "The same question gets the same answer.", profilePure, Needs::Slotted},
    {"profiles.in_bounds", "profile writes no byte past a struct of another size.", profileInBounds,
     Needs::Slotted},
};

} // namespace

extern const Group kProfiles = {"profiles", TSR_PLUGIN_NUMERICS, false, kProfilesChecks};

} // namespace tessera::kit
