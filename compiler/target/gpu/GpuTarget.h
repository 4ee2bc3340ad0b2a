// The GPUs that kernels are compiled for, as the shared lowering needs to know them.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace tessera::gpu {

/// One row per architecture; constant, shared by all threads.
struct GpuTarget {
  llvm::StringLiteral kind;      // "ptx", "rocm", "levelzero"
  llvm::StringLiteral arch;      // "sm_90", "gfx90a", "pvc"
  int64_t threads;               // of a thread block; one program is one block
  int64_t warpSize;              // threads that run in lock step
  int64_t staticShared;          // bytes of shared memory that a kernel may declare
  int64_t maxShared;             // bytes that it may have when the launch asks for them
  llvm::StringLiteral groupSync; // LLVM's name of the synchronisation scope of a block, of the device
  llvm::StringLiteral deviceSync;
  bool floatAtomicAdd; // has an atomic addition of f32; without it the lowering loops over compare and swap

  /// "ptx:sm_90", as the user writes it.
  std::string name() const { return kind.str() + ":" + arch.str(); }
};

/// Every architecture, oldest of a kind first.
llvm::ArrayRef<GpuTarget> gpuTargets();

/// Whether `kind` ("ptx" of "ptx:sm_90") names GPUs at all. Here and below `level_zero` stands for
/// `levelzero`.
bool isGpuKind(llvm::StringRef kind);

/// The row of "kind:arch"; null with the reason, which lists the architectures there are.
const GpuTarget *findGpuTarget(llvm::StringRef name, std::string &why);

// Address spaces of the pointers in a lowered kernel; the same numbers in NVVM, ROCDL and SPIR-V for OpenCL.
inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;

} // namespace tessera::gpu
