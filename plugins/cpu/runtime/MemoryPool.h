// The memory of one CPU context: size classes over large mappings.
//
// Sizes are rounded up to one of four steps per power of two, so at most a quarter is wasted. Small blocks
// are carved from 2 MiB chunks and recycled by class. Large blocks are mappings of their own, on 2 MiB pages
// if the kernel has them, and are kept for reuse up to a limit. Freed memory is poisoned: for
// AddressSanitizer if it is active, with a byte pattern in checked builds (Debug).
//
// With an allocator from the caller nothing is pooled: each block is allocated by one call and freed by one
// call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tessera/tessera.h>
#include <vector>

namespace tessera::cpu {

/// Thread-safe.
class MemoryPool {
public:
  /// `limit`: the largest block ever returned, and the total memory. `allocator`: null, or the source of all
  /// blocks; it is called without locks held.
  explicit MemoryPool(uint64_t limit, const tsr_allocator_t *allocator = nullptr)
      : limit_(limit), allocator_(allocator) {}
  ~MemoryPool(); // frees everything, whether in use or not
  MemoryPool(const MemoryPool &) = delete;
  MemoryPool &operator=(const MemoryPool &) = delete;

  /// Returns at least `bytes`, aligned to 64, or null when there is not enough memory.
  void *alloc(size_t bytes);
  /// Returns false when `p` is not the start of a live block.
  bool free(void *p);
  /// Returns whether [p, p + bytes) is inside one live block.
  bool owns(const void *p, size_t bytes) const;
  /// Returns the bytes from `p` to the end of the live block that contains it; nullopt: no live block
  /// contains it.
  std::optional<size_t> available(const void *p) const;
  /// Unmaps idle memory. The chunks of small blocks are unmapped only when no small block is in use.
  void trim();

  uint64_t bytesInUse() const;
  uint64_t bytesPooled() const;

private:
  struct Block {
    size_t requested, rounded;
  };

  void *carve(size_t rounded);
  void *mapLarge(size_t rounded);
  void *borrow(size_t bytes);
  bool giveBack(void *p);
  void retireLocked(void *p, size_t rounded);
  void trimLocked();

  const uint64_t limit_;
  const tsr_allocator_t *const allocator_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> live_;
  std::map<size_t, std::vector<void *>> idle_; // by rounded size
  std::vector<void *> chunks_;
  size_t liveSmall_ = 0; // live blocks that are part of chunks
  char *chunkNext_ = nullptr, *chunkEnd_ = nullptr;
  uint64_t inUse_ = 0, mapped_ = 0; // rounded sizes; mapped_ counts chunks and large blocks
};

} // namespace tessera::cpu
