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

/// Whether the process may map this much more (RLIMIT_AS, the system's limit on committed memory). Nothing is
/// touched: two system calls, no memory. Thread-safe; another thread may take the memory before the caller
/// does.
inline bool canMap(size_t bytes) {
  void *p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  ::munmap(p, bytes);
  return true;
}

} // namespace tessera
