#include "compiler/target/gpu/GpuTarget.h"
#include "llvm/ADT/STLExtras.h"

namespace tessera::gpu {

llvm::ArrayRef<GpuTarget> gpuTargets() {
  constexpr int64_t K = 1024;
  static constexpr GpuTarget targets[] = {
      {"ptx", "sm_80", 256, 32, 48 * K, 163 * K, "block", "device", true},
      {"ptx", "sm_90", 256, 32, 48 * K, 227 * K, "block", "device", true},
      {"rocm", "gfx90a", 256, 64, 64 * K, 64 * K, "workgroup", "agent", true},
      {"rocm", "gfx1100", 256, 32, 64 * K, 64 * K, "workgroup", "agent", true},
      {"levelzero", "pvc", 256, 32, 128 * K, 128 * K, "workgroup", "device", false},
  };
  return targets;
}

namespace {
/// The kind a user means: `level_zero` is another way to write `levelzero`.
llvm::StringRef canonicalKind(llvm::StringRef kind) { return kind == "level_zero" ? "levelzero" : kind; }
} // namespace

bool isGpuKind(llvm::StringRef kind) {
  return llvm::any_of(gpuTargets(), [&](const GpuTarget &t) { return t.kind == canonicalKind(kind); });
}

const GpuTarget *findGpuTarget(llvm::StringRef name, std::string &why) {
  auto [kind, arch] = name.split(':');
  std::string known;
  for (const GpuTarget &t : gpuTargets()) {
    if (t.kind != canonicalKind(kind)) continue;
    if (t.arch == arch) return &t;
    known += (known.empty() ? "" : ", ") + t.name();
  }
  why = arch.empty() ? "names no architecture" : "unknown architecture '" + arch.str() + "'";
  why += "; there are " + known;
  return nullptr;
}

} // namespace tessera::gpu
