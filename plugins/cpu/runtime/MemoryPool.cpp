#include "plugins/cpu/runtime/MemoryPool.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define TESSERA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESSERA_ASAN 1
#endif
#endif
#ifdef TESSERA_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tessera::cpu {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kChunk = kHugePage;
constexpr size_t kLargestSmall = 256 << 10;
constexpr size_t kPage = 4096;

/// Returns the size class: the next of four steps per power of two, at least 64 bytes, and whole pages for
/// mappings.
size_t roundUp(size_t bytes) {
  if (bytes <= 4 * kAlign) return std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  size_t step = std::bit_floor(bytes - 1) / 4;
  size_t rounded = (bytes + step - 1) / step * step;
  return rounded <= kLargestSmall ? rounded : (rounded + kPage - 1) / kPage * kPage;
}

/// Maps `bytes`. From 2 MiB on, the mapping starts on a 2 MiB boundary, so that huge pages cover all of it.
void *map(size_t bytes) {
  size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void *raw = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (!slack) return raw;
  auto begin = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (begin + kHugePage - 1) & ~uintptr_t{kHugePage - 1};
  if (aligned != begin) munmap(raw, aligned - begin);
  if (uintptr_t tail = begin + slack - aligned) munmap(reinterpret_cast<void *>(aligned + bytes), tail);
  void *p = reinterpret_cast<void *>(aligned);
  madvise(p, bytes, MADV_HUGEPAGE); // a hint, which the kernel refuses if huge pages are off
  return p;
}

[[maybe_unused]] constexpr size_t kPoisonedBytes = 64 << 10; // per block; more would only cost time
[[maybe_unused]] constexpr int kFreshByte = 0xCB, kDeadByte = 0xDB;

/// Makes `requested` bytes of a block of `rounded` bytes usable.
void markLive(void *p, size_t requested, [[maybe_unused]] size_t rounded) {
#ifdef TESSERA_ASAN
  ASAN_UNPOISON_MEMORY_REGION(p, requested);
  ASAN_POISON_MEMORY_REGION(static_cast<char *>(p) + requested, rounded - requested);
#elif defined(TESSERA_CHECKED)
  std::memset(p, kFreshByte, std::min(requested, kPoisonedBytes));
#endif
}

void markDead(void *p, size_t rounded) {
#ifdef TESSERA_ASAN
  ASAN_POISON_MEMORY_REGION(p, rounded);
#elif defined(TESSERA_CHECKED)
  std::memset(p, kDeadByte, std::min(rounded, kPoisonedBytes));
#endif
}

void unmap(void *p, size_t bytes) {
#ifdef TESSERA_ASAN
  ASAN_UNPOISON_MEMORY_REGION(p, bytes); // other code may map the address again
#endif
  munmap(p, bytes);
}

} // namespace

MemoryPool::~MemoryPool() {
  if (allocator_) {
    for (auto &[address, block] : live_)
      allocator_->free(allocator_->user, reinterpret_cast<void *>(address), block.rounded);
    return;
  }
  trimLocked();
  for (auto &[address, block] : live_)
    if (block.rounded > kLargestSmall) unmap(reinterpret_cast<void *>(address), block.rounded);
  for (void *chunk : chunks_)
    unmap(chunk, kChunk);
}

void *MemoryPool::alloc(size_t bytes) {
  if (bytes > SIZE_MAX / 4) return nullptr;
  if (allocator_) return borrow(bytes);
  if (bytes > limit_) return nullptr;
  size_t rounded = roundUp(bytes);
  std::lock_guard lock(mutex_);
  if (inUse_ + rounded > limit_) return nullptr;
  void *p = nullptr;
  if (auto it = idle_.find(rounded); it != idle_.end() && !it->second.empty()) {
    p = it->second.back();
    it->second.pop_back();
  } else {
    p = rounded <= kLargestSmall ? carve(rounded) : mapLarge(rounded);
  }
  if (!p) return nullptr;
  try {
    live_.emplace(reinterpret_cast<uintptr_t>(p), Block{bytes, rounded});
  } catch (const std::bad_alloc &) {
    retireLocked(p, rounded);
    return nullptr;
  }
  inUse_ += rounded;
  liveSmall_ += rounded <= kLargestSmall;
  markLive(p, bytes, rounded);
  return p;
}

void *MemoryPool::borrow(size_t bytes) {
  size_t rounded = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  void *p = allocator_->alloc(allocator_->user, rounded, kAlign);
  if (!p) return nullptr;
  if (reinterpret_cast<uintptr_t>(p) % kAlign == 0) {
    try {
      std::lock_guard lock(mutex_);
      if (live_.emplace(reinterpret_cast<uintptr_t>(p), Block{bytes, rounded}).second) {
        inUse_ += rounded;
        mapped_ += rounded;
        return p;
      }
      return nullptr; // the allocator returned a live block, which its owner keeps
    } catch (const std::bad_alloc &) {
    }
  }
  allocator_->free(allocator_->user, p, rounded);
  return nullptr;
}

bool MemoryPool::giveBack(void *p) {
  size_t rounded;
  {
    std::lock_guard lock(mutex_);
    auto it = live_.find(reinterpret_cast<uintptr_t>(p));
    if (it == live_.end()) return false;
    rounded = it->second.rounded;
    live_.erase(it);
    inUse_ -= rounded;
    mapped_ -= rounded;
  }
  allocator_->free(allocator_->user, p, rounded);
  return true;
}

void *MemoryPool::carve(size_t rounded) {
  if (static_cast<size_t>(chunkEnd_ - chunkNext_) < rounded) {
    chunks_.reserve(chunks_.size() + 1); // so that nothing can fail once the chunk is mapped
    void *chunk = map(kChunk);
    if (!chunk) return nullptr;
    chunks_.push_back(chunk);
    mapped_ += kChunk;
    markDead(chunk, kChunk);
    // The rest of the old chunk is a block without a class; it stays unused until the context ends.
    chunkNext_ = static_cast<char *>(chunk);
    chunkEnd_ = chunkNext_ + kChunk;
  }
  void *p = chunkNext_;
  chunkNext_ += rounded;
  return p;
}

void *MemoryPool::mapLarge(size_t rounded) {
  void *p = map(rounded);
  if (!p) {
    trimLocked(); // idle blocks of other sizes may occupy the memory
    p = map(rounded);
  }
  if (p) mapped_ += rounded;
  return p;
}

bool MemoryPool::free(void *p) {
  if (allocator_) return giveBack(p);
  std::lock_guard lock(mutex_);
  auto it = live_.find(reinterpret_cast<uintptr_t>(p));
  if (it == live_.end()) return false;
  size_t rounded = it->second.rounded;
  live_.erase(it);
  inUse_ -= rounded;
  liveSmall_ -= rounded <= kLargestSmall;
  retireLocked(p, rounded);
  return true;
}

/// Keeps a block that is no longer in use, or returns it to the system. Never throws.
void MemoryPool::retireLocked(void *p, size_t rounded) {
  bool isLarge = rounded > kLargestSmall;
  // Up to a quarter of the machine's memory may be idle in pools; the rest returns to the system at once.
  bool keep = !isLarge || mapped_ - inUse_ <= limit_ / 4;
  if (keep) {
    markDead(p, rounded);
    try {
      idle_[rounded].push_back(p);
      return;
    } catch (const std::bad_alloc &) {
      // no memory to record it: a small block stays unused until its chunk is unmapped
    }
  }
  if (!isLarge) return;
  unmap(p, rounded);
  mapped_ -= rounded;
}

bool MemoryPool::owns(const void *p, size_t bytes) const {
  auto address = reinterpret_cast<uintptr_t>(p);
  std::lock_guard lock(mutex_);
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return false;
  --it;
  size_t offset = address - it->first;
  return offset <= it->second.requested && bytes <= it->second.requested - offset;
}

std::optional<size_t> MemoryPool::available(const void *p) const {
  auto address = reinterpret_cast<uintptr_t>(p);
  std::lock_guard lock(mutex_);
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return std::nullopt;
  const auto &[begin, block] = *--it;
  size_t offset = address - begin;
  if (offset >= block.rounded) return std::nullopt;
  return block.requested - std::min(offset, block.requested);
}

void MemoryPool::trim() {
  std::lock_guard lock(mutex_);
  trimLocked();
}

void MemoryPool::trimLocked() {
  for (auto it = idle_.upper_bound(kLargestSmall); it != idle_.end(); it = idle_.erase(it))
    for (void *p : it->second) {
      unmap(p, it->first);
      mapped_ -= it->first;
    }
  if (liveSmall_ != 0) return;
  for (void *chunk : chunks_)
    unmap(chunk, kChunk);
  mapped_ -= chunks_.size() * kChunk;
  chunks_.clear();
  idle_.clear(); // the large ones were unmapped above
  chunkNext_ = chunkEnd_ = nullptr;
}

uint64_t MemoryPool::bytesInUse() const {
  std::lock_guard lock(mutex_);
  return inUse_;
}

uint64_t MemoryPool::bytesPooled() const {
  std::lock_guard lock(mutex_);
  return mapped_ - inUse_;
}

} // namespace tessera::cpu
