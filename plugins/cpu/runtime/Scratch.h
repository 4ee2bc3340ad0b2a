// Scratch memory of the thread that runs tile programs: grown to the largest need, reused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace tessera::cpu {

/// One per thread; not shared. The owner releases it. Mapped rather than malloc'ed: an impossible size fails
/// instead of aborting under a sanitizer, and pages are touched first by the thread that uses them.
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// At least `bytes`, 64-byte aligned, contents undefined; null when there is not so much. 0 bytes is never
  /// null.
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

  /// Unmaps the memory. The next get maps other memory.
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
