// Checks whether memory is available before work that cannot report that it ran out: MLIR and LLVM are built
// without exceptions and terminate the process.
#pragma once
#include <cstddef>
#include <sys/mman.h>

namespace tessera {

/// Address space that loading the compiler needs: MLIR and LLVM map 300 MB, and their static objects need
/// more.
inline constexpr size_t kLoadBytes = size_t(384) << 20;
/// Address space that one compilation needs. Programs like the samples use 10 MB. The pass target-limit-size
/// checks large programs again, by their size.
inline constexpr size_t kCompilationBytes = size_t(64) << 20;
/// Memory that LLVM needs per machine operation: measured 0.5 KB.
inline constexpr size_t kOperationBytes = 1024;

/// Returns whether `bytes` fit into the limit on the process's address space (RLIMIT_AS). Costs two system
/// calls and no memory. Limits on data and on committed memory are not checked, since most of what a library
/// maps is its file. Thread-safe, but another thread may use the space before the caller does.
inline bool canMap(size_t bytes) {
  void *p = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  ::munmap(p, bytes);
  return true;
}

} // namespace tessera
