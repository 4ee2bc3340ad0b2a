// Scratch memory of a thread that runs tile programs: grows to the largest need and is reused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace tessera::cpu {

/// Used by one thread; the owner releases it. The memory is mapped rather than malloc'ed: an impossible size
/// fails instead of aborting under a sanitizer, and the thread that uses the pages touches them first.
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// Returns at least `bytes`, 64-byte aligned, with undefined contents; null when there is not enough
  /// memory. 0 bytes never return null.
  uint8_t *get(size_t bytes) {
    if (bytes <= size_) return size_ ? data_ : empty_;
    release();
    if (bytes > SIZE_MAX / 2) return nullptr;
    size_t rounded = (bytes + 0xFFFF) & ~size_t{0xFFFF};
    void *p = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    data_ = static_cast<uint8_t *>(p);
    size_ = rounded;
    return data_;
  }

  /// Unmaps the memory. The next get() maps new memory.
  void release() {
    if (size_) munmap(data_, size_);
    size_ = 0;
  }

private:
  uint8_t *data_ = nullptr;
  size_t size_ = 0;
  alignas(64) uint8_t empty_[64] = {};
};

} // namespace tessera::cpu
