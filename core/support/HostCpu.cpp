#include "core/support/HostCpu.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <cstring>
#endif

namespace tessera {

#if defined(__x86_64__)

std::string_view hostCpuName() {
  __builtin_cpu_init();
#define TESSERA_CPU_NAME(NAME)                                                                               \
  if (__builtin_cpu_is(NAME)) return NAME;
#include "sdk/schema/cpu_names.def"
#undef TESSERA_CPU_NAME
  return "";
}

std::string hostCpuModel() {
  if (std::string_view name = hostCpuName(); !name.empty()) return std::string(name);
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return "";
  char vendor[13] = {};
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  if (!__get_cpuid(1, &a, &b, &c, &d)) return "";
  const unsigned base = a >> 8 & 0xf; // the fields beside it extend only some families
  const unsigned family = base == 15 ? base + (a >> 20 & 0xff) : base;
  const unsigned model = (a >> 4 & 0xf) | (base == 6 || base == 15 ? a >> 12 & 0xf0 : 0);
  return vendor + ("-" + std::to_string(family)) + "-" + std::to_string(model);
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
std::string hostCpuModel() { return ""; }

std::string_view firstMissing(const std::vector<std::string> &features) {
  return features.empty() ? std::string_view() : std::string_view(features[0]);
}

#endif

std::string hostCpuTarget() {
  if (std::string_view name = hostCpuName(); !name.empty()) return "cpu:" + std::string(name);
  auto has = [](const std::vector<std::string> &features) { return firstMissing(features).empty(); };
  if (!has({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "cpu:x86-64-v2";
  return has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? "cpu:x86-64-v4" : "cpu:x86-64-v3";
}

} // namespace tessera
