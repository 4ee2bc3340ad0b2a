#include "core/support/HostCpu.h"
#include "core/support/MadeOnce.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <cstring>
#endif
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera {

TileRegisters examineTiles(uint32_t edx, uint64_t xcr0, int (*request)()) {
  constexpr uint32_t kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  constexpr uint64_t kState = uint64_t{3} << 17; // configuration and data, which the system saves
  TileRegisters out;
  if (!(edx & kTile) || (xcr0 & kState) != kState) return out;
  out.refusal = request();
  out.hasTiles = out.refusal == 0;
  out.multipliesBytes = out.hasTiles && (edx & kInt8);
  out.multipliesBf16 = out.hasTiles && (edx & kBf16);
  return out;
}

#if defined(__x86_64__)

namespace {
struct Model {
  char vendor[13] = {};
  unsigned family = 0, number = 0;
};

/// Returns false if the processor does not tell.
bool readModel(Model &out) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
  std::memcpy(out.vendor, &b, 4);
  std::memcpy(out.vendor + 4, &d, 4);
  std::memcpy(out.vendor + 8, &c, 4);
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  const unsigned base = a >> 8 & 0xf; // the fields beside it extend only some families
  out.family = base == 15 ? base + (a >> 20 & 0xff) : base;
  out.number = (a >> 4 & 0xf) | (base == 6 || base == 15 ? a >> 12 & 0xf0 : 0);
  return true;
}

/// libgcc before 13, which __builtin_cpu_is may ask, takes Zen 4 for Zen 3. The models are those of LLVM.
bool isZen4() {
  Model model;
  if (!readModel(model) || std::strcmp(model.vendor, "AuthenticAMD") != 0 || model.family != 25) return false;
  const unsigned sixteens = model.number / 16;
  return sixteens == 1 || sixteens == 6 || sixteens == 7 || sixteens == 10;
}

constinit MadeOnce<bool> knownZen4; // once, because a virtual machine is left for each question
} // namespace

std::string_view hostCpuName() {
  __builtin_cpu_init();
  if (knownZen4.get(isZen4)) return "znver4";
#define TESSERA_CPU_NAME(NAME)                                                                               \
  if (__builtin_cpu_is(NAME)) return NAME;
#include "sdk/schema/cpu_names.def"
#undef TESSERA_CPU_NAME
  return "";
}

std::string hostCpuModel() {
  if (std::string_view name = hostCpuName(); !name.empty()) return std::string(name);
  Model model;
  if (!readModel(model)) return "";
  return model.vendor + ("-" + std::to_string(model.family)) + "-" + std::to_string(model.number);
}

namespace {
/// Asks Linux for the state of tile registers, for all threads of the process.
int requestTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? 0 : errno;
}

uint64_t readXcr0() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return uint64_t{d} << 32 | a;
}

constinit MadeOnce<TileRegisters> knownTiles;

const TileRegisters &hostTiles() {
  return knownTiles.get([] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) d = 0;
    return examineTiles(d, readXcr0(), requestTiles);
  });
}

bool supports(std::string_view feature) {
  if (feature == "amx-tile") return hostTiles().hasTiles;
  if (feature == "amx-int8") return hostTiles().multipliesBytes;
  if (feature == "amx-bf16") return hostTiles().multipliesBf16;
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

std::string refusalOf(const std::vector<std::string> &features) {
  if (!firstMissing(features).starts_with("amx-") || hostTiles().refusal == 0) return "";
  return "Linux refuses this process the tile registers of AMX: " +
         std::string(std::strerror(hostTiles().refusal));
}

std::string obstacleTo(const std::vector<std::string> &features) {
  const std::string_view missing = firstMissing(features);
  if (missing.empty()) return "";
  const std::string refusal = refusalOf(features);
  return refusal.empty() ? "this processor has no " + std::string(missing) : refusal;
}

#else

std::string_view hostCpuName() { return ""; }
std::string hostCpuModel() { return ""; }

std::string_view firstMissing(const std::vector<std::string> &features) {
  return features.empty() ? std::string_view() : std::string_view(features[0]);
}

std::string refusalOf(const std::vector<std::string> &) { return ""; }

std::string obstacleTo(const std::vector<std::string> &features) {
  return features.empty() ? "" : "this processor has no " + features[0];
}

#endif

std::string hostCpuTarget() {
  if (std::string_view name = hostCpuName(); !name.empty()) return "cpu:" + std::string(name);
  auto has = [](const std::vector<std::string> &features) { return firstMissing(features).empty(); };
  if (!has({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return "cpu:x86-64-v2";
  return has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? "cpu:x86-64-v4" : "cpu:x86-64-v3";
}

} // namespace tessera
