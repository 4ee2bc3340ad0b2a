#include "core/HostCpu.h"

namespace tessera {

#if defined(__x86_64__)

// The builtins take literals only.
#define TESSERA_CPU_NAMES(X)                                                                                 \
  X("core2")                                                                                                 \
  X("nehalem")                                                                                               \
  X("westmere")                                                                                              \
  X("sandybridge")                                                                                           \
  X("ivybridge") X("haswell") X("broadwell") X("skylake") X("skylake-avx512") X("cascadelake")               \
      X("cooperlake") X("cannonlake") X("icelake-client") X("icelake-server") X("tigerlake") X("rocketlake") \
          X("alderlake") X("sapphirerapids") X("graniterapids") X("sierraforest") X("silvermont")            \
              X("goldmont") X("goldmont-plus") X("tremont") X("amdfam10") X("btver1") X("btver2")            \
                  X("bdver1") X("bdver2") X("bdver3") X("bdver4") X("znver1") X("znver2") X("znver3")        \
                      X("znver4") X("znver5")

std::string_view hostCpuName() {
  __builtin_cpu_init();
#define TESSERA_CPU_IS(NAME)                                                                                 \
  if (__builtin_cpu_is(NAME)) return NAME;
  TESSERA_CPU_NAMES(TESSERA_CPU_IS)
#undef TESSERA_CPU_IS
  return "";
}

namespace {
bool supports(std::string_view feature) {
#define TESSERA_CPU_FEATURE(NAME)                                                                            \
  if (feature == NAME) return __builtin_cpu_supports(NAME);
#include "sdk/schema/cpu_features.def"
#undef TESSERA_CPU_FEATURE
  return false;
}
} // namespace

std::string_view firstMissing(const std::vector<std::string> &features) {
  __builtin_cpu_init();
  for (const std::string &feature : features)
    if (!supports(feature)) return feature;
  return "";
}

#else

std::string_view hostCpuName() { return ""; }

std::string_view firstMissing(const std::vector<std::string> &features) {
  return features.empty() ? std::string_view() : std::string_view(features[0]);
}

#endif

} // namespace tessera
