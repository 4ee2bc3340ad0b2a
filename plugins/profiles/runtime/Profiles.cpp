// The built-in numerics profiles: a plugin that is part of libtessera.so.
#include "numerics/NumericsProfile.h"
#include <tessera/numerics.hpp>

namespace tessera {
namespace {

template <size_t Row> class BuiltinNumerics final : public NumericsProfile {
  const NumericsPermissions &permits = builtinProfiles()[Row].permits;

  const char *name() const override { return builtinProfiles()[Row].name; }
  bool contraction() const override { return permits.contraction; }
  bool reassociation() const override { return permits.reassociation; }
  bool approximate() const override { return permits.approximate; }
  bool reducedMultiply() const override { return permits.reducedMultiply; }
  bool unorderedAtomics() const override { return permits.unorderedAtomics; }
  bool fixedReductions() const override { return permits.fixedReductions; }
  bool frozenTunables() const override { return permits.frozenTunables; }
};

} // namespace

int32_t queryProfiles(const tsr_host_info_t *, tsr_plugin_info_t *out) {
  tsr_plugin_info_t info{};
  info.struct_size = out->struct_size;
  info.abi_major = TSR_PLUGIN_ABI_MAJOR;
  info.built_minor = TSR_PLUGIN_ABI_MINOR;
  info.kinds = TSR_PLUGIN_NUMERICS;
  info.name = "profiles";
  info.version = "1.0";
  info.description = "the numerics profiles fast, standard, deterministic and strict";
  info.features_required = info.features_optional = info.compiler_abi = "";
  info.numerics =
      numericsTable<BuiltinNumerics<0>, BuiltinNumerics<1>, BuiltinNumerics<2>, BuiltinNumerics<3>>();
  thunk::copyOut(out, info);
  return TSR_SUCCESS;
}

} // namespace tessera
