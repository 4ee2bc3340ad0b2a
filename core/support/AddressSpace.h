// Asks whether memory is left before work that cannot report that it ran out: MLIR and LLVM are built without
// exceptions and end the process.
#pragma once
#include <cstddef>
#include <sys/mman.h>

namespace tessera {

/// Loading the compiler with MLIR and LLVM maps 300 MB, and their static objects take memory besides.
inline constexpr size_t kLoadBytes = size_t(384) << 20;
/// A call of the compiler. Programs like the samples' take 10 MB; a large one is asked for by its size again,
/// in target-limit-size.
inline constexpr size_t kCompilationBytes = size_t(64) << 20;
/// An operation of machine code in LLVM: measured 0.5 KB.
inline constexpr size_t kOperationBytes = 1024;

/// Whether the limit on the process's address space (RLIMIT_AS) leaves this much. Two system calls, no
/// memory; limits on data and on committed memory do not count, since most of what a library maps is its
/// file. Thread-safe; another thread may take the space before the caller does.
inline bool canMap(size_t bytes) {
  void *p = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  ::munmap(p, bytes);
  return true;
}

} // namespace tessera
