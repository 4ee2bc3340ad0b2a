// Numerics profiles in C++: named sets of changes that a compiler may make to floating-point arithmetic.
//
//   struct Exact : tessera::NumericsProfile {
//     const char *name() const override { return "exact"; }
//     bool unorderedAtomics() const override { return true; }
//   };
//   TSR_PLUGIN(Exact);
//
// Several profiles in one plugin: `using Profiles = tessera::NumericsProfiles<Exact, Loose>;
// TSR_PLUGIN(Profiles);`. docs/numerics.md defines each permission and lists what uses it.
#pragma once
#include <concepts>
#include <tessera/plugin.h>
#include <tessera/thunk.hpp>

namespace tessera {

/// A profile that permits and requires only what a subclass overrides. Each object is read once and has no
/// state.
class NumericsProfile {
public:
  virtual ~NumericsProfile() = default;
  /// Returns the name: 1 to 64 of a-z, 0-9, - and _, beginning with a letter; static. It must not be fast,
  /// standard, deterministic or strict.
  virtual const char *name() const = 0;

  virtual bool contraction() const { return false; }      // a * b + c may become an fma
  virtual bool reassociation() const { return false; }    // sums may be regrouped
  virtual bool approximate() const { return false; }      // functions may exceed the documented ulps
  virtual bool reducedMultiply() const { return false; }  // f32 matmul operands may be rounded to tf32
  virtual bool unorderedAtomics() const { return false; } // float atomics may run in any order
  virtual bool fixedReductions() const { return false; }  // reductions follow the documented tree
  virtual bool frozenTunables() const { return false; }   // a tunable keeps its first value
};

/// The profiles of one plugin, each default-constructible.
template <std::derived_from<NumericsProfile>... Profiles> struct NumericsProfiles {
  static_assert(sizeof...(Profiles) > 0);
};

namespace thunk {

inline tsr_numerics_profile_t numericsRow(const NumericsProfile &p) {
  tsr_numerics_profile_t out{};
  out.struct_size = sizeof out;
  out.name = p.name();
  out.contraction = p.contraction();
  out.reassociation = p.reassociation();
  out.approximate = p.approximate();
  out.reduced_multiply = p.reducedMultiply();
  out.unordered_atomics = p.unorderedAtomics();
  out.fixed_reductions = p.fixedReductions();
  out.frozen_tunables = p.frozenTunables();
  return out;
}

/// Implements tsr_numerics_api_t::profile: writes the profile at `index`.
template <class... Profiles> int32_t numericsProfile(uint32_t index, tsr_numerics_profile_t *out) noexcept {
  return guard(nullptr, [&](std::string &) -> int32_t {
    uint32_t at = 0;
    const bool found = ((at++ == index && (copyOut(out, numericsRow(Profiles())), true)) || ...);
    return found ? TSR_SUCCESS : TSR_ENOTFOUND;
  });
}

} // namespace thunk

/// Returns the C table of the profiles for tsr_plugin_info_t::numerics.
template <std::derived_from<NumericsProfile>... Profiles> const tsr_numerics_api_t *numericsTable() noexcept {
  static constexpr tsr_numerics_api_t table = {sizeof(tsr_numerics_api_t), TSR_NUMERICS_API_MAJOR,
                                               TSR_NUMERICS_API_MINOR, thunk::numericsProfile<Profiles...>};
  return &table;
}

namespace thunk {

/// TSR_PLUGIN's handling of one profile, and of a list of them.
template <std::derived_from<NumericsProfile> P> void offer(Of<P>, tsr_plugin_info_t &info) {
  info.numerics = numericsTable<P>();
}
template <class... Ps> void offer(Of<NumericsProfiles<Ps...>>, tsr_plugin_info_t &info) {
  info.numerics = numericsTable<Ps...>();
}

} // namespace thunk
} // namespace tessera
