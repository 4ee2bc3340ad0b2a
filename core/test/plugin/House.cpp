// A plugin of numerics profiles for tests: some compile, some are refused, and two cannot be selected.
#include <tessera/numerics.hpp>
#include <tessera/plugin.hpp>

using tessera::NumericsProfile;

/// The permissions of standard, without contraction.
struct House : NumericsProfile {
  const char *name() const override { return "house"; }
  bool unorderedAtomics() const override { return true; }
};
struct Tree : NumericsProfile {
  const char *name() const override { return "tree"; }
  bool fixedReductions() const override { return true; }
};
struct Frozen : NumericsProfile {
  const char *name() const override { return "frozen"; }
  bool contraction() const override { return true; }
  bool frozenTunables() const override { return true; }
};
struct Taken : NumericsProfile {
  const char *name() const override { return "standard"; }
};
struct Misnamed : NumericsProfile {
  const char *name() const override { return "Bad Name"; }
};

using Profiles = tessera::NumericsProfiles<House, Tree, Taken, Misnamed, Frozen>;
TSR_PLUGIN(Profiles);
