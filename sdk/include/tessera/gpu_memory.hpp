// The memory pool of GpuBackend (gpu_backend.hpp): size classes over large blocks of a driver.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tessera/gpu_driver.hpp>
#include <vector>

namespace tessera::gpu {

/// Memory of one kind, of a device or pinned, in a context. It never touches the memory itself.
///
/// Sizes are rounded up to one of four steps per power of two. Blocks of up to 1 MiB are carved from chunks
/// of 2 MiB; a larger block is one call of the source. Freed blocks are kept for the next allocation of their
/// size, up to a quarter of the device's memory. With an allocator of the caller nothing is kept.
///
/// Thread-safe.
class MemoryPool {
public:
  /// Sets the address, which is a multiple of 256.
  using Take = std::function<Outcome(size_t bytes, void *&out)>;
  using Give = std::function<void(void *)>;

  MemoryPool(Take take, Give give, uint64_t total, const tsr_allocator_t *allocator = nullptr)
      : take_(std::move(take)), give_(std::move(give)), total_(total), allocator_(allocator) {}
  MemoryPool(const MemoryPool &) = delete;
  MemoryPool &operator=(const MemoryPool &) = delete;
  /// Frees everything, whether in use or not.
  ~MemoryPool() {
    if (allocator_) {
      for (auto &[address, block] : live_)
        allocator_->free(allocator_->user, reinterpret_cast<void *>(address), block.rounded);
      return;
    }
    for (auto &[address, block] : live_)
      if (block.rounded > kLargestSmall) give_(reinterpret_cast<void *>(address));
    for (auto &[rounded, blocks] : idle_)
      if (rounded > kLargestSmall) std::ranges::for_each(blocks, give_);
    std::ranges::for_each(chunks_, give_);
  }

  Outcome alloc(size_t bytes, void *&out) {
    if (bytes > SIZE_MAX / 4) return refuse(bytes, "");
    std::lock_guard lock(mutex_);
    const size_t rounded = allocator_ ? std::max<size_t>(64, (bytes + 63) / 64 * 64) : roundUp(bytes);
    void *block = nullptr;
    std::string reason;
    if (allocator_) {
      block = allocator_->alloc(allocator_->user, rounded, 64);
      reason = "the allocator of the context's options has none";
    } else if (auto idle = idle_.find(rounded); idle != idle_.end() && !idle->second.empty()) {
      block = idle->second.back();
      idle->second.pop_back();
    } else if (Outcome took = rounded > kLargestSmall ? takeLarge(rounded, block) : carve(rounded, block);
               took.failed()) {
      return took.status == TSR_EOOM ? refuse(bytes, took.text) : took;
    }
    if (!block) return refuse(bytes, reason);
    live_[reinterpret_cast<uintptr_t>(block)] = {bytes, rounded};
    inUse_ += rounded;
    liveSmall_ += !allocator_ && rounded <= kLargestSmall;
    out = block;
    return {};
  }

  /// Returns false if `p` is not the start of a live block.
  [[nodiscard]] bool free(void *p) {
    std::lock_guard lock(mutex_);
    auto found = live_.find(reinterpret_cast<uintptr_t>(p));
    if (found == live_.end()) return false;
    const size_t rounded = found->second.rounded;
    live_.erase(found);
    inUse_ -= rounded;
    if (allocator_) {
      allocator_->free(allocator_->user, p, rounded);
    } else if (rounded > kLargestSmall && mapped_ - inUse_ > total_ / 4) {
      give_(p);
      mapped_ -= rounded;
    } else {
      liveSmall_ -= rounded <= kLargestSmall;
      idle_[rounded].push_back(p);
    }
    return true;
  }

  /// Returns the bytes from `p` to the end of the live block that contains it.
  std::optional<size_t> available(const void *p) const {
    std::lock_guard lock(mutex_);
    auto after = live_.upper_bound(reinterpret_cast<uintptr_t>(p));
    if (after == live_.begin()) return std::nullopt;
    const auto &[begin, block] = *--after;
    const size_t offset = reinterpret_cast<uintptr_t>(p) - begin;
    if (offset >= block.rounded) return std::nullopt;
    return block.requested - std::min(offset, block.requested);
  }

  /// Returns idle blocks to the driver. Chunks of small blocks stay as long as one of their blocks is in use.
  void trim() {
    std::lock_guard lock(mutex_);
    trimLocked();
  }

  uint64_t bytesInUse() const {
    std::lock_guard lock(mutex_);
    return inUse_;
  }
  uint64_t bytesPooled() const {
    std::lock_guard lock(mutex_);
    return allocator_ ? 0 : mapped_ - inUse_;
  }

private:
  static constexpr size_t kAlign = 256, kChunk = 2 << 20, kLargestSmall = 1 << 20;
  struct Block {
    size_t requested, rounded;
  };

  static size_t roundUp(size_t bytes) {
    bytes = std::max(bytes, kAlign);
    const size_t step = std::max(kAlign, std::bit_floor(bytes) / 4);
    return (bytes + step - 1) / step * step;
  }
  Outcome refuse(size_t bytes, const std::string &reason) const {
    std::string text = "cannot get " + std::to_string(bytes) + " bytes" +
                       (reason.empty() ? "" : ": " + reason) + "; the device has " + std::to_string(total_);
    return {TSR_EOOM, std::move(text)};
  }
  Outcome takeLarge(size_t rounded, void *&out) {
    Outcome took = take_(rounded, out);
    if (took.status == TSR_EOOM) { // idle blocks of other sizes may occupy the memory
      trimLocked();
      took = take_(rounded, out);
    }
    if (!took.failed()) mapped_ += rounded;
    return took;
  }
  Outcome carve(size_t rounded, void *&out) {
    if (chunkLeft_ < rounded) { // what is left of the old chunk stays unused
      void *chunk = nullptr;
      if (Outcome o = takeLarge(kChunk, chunk); o.failed()) return o;
      chunks_.push_back(chunk);
      chunkNext_ = static_cast<char *>(chunk), chunkLeft_ = kChunk;
    }
    out = chunkNext_;
    chunkNext_ += rounded, chunkLeft_ -= rounded;
    return {};
  }
  void trimLocked() {
    for (auto it = idle_.upper_bound(kLargestSmall); it != idle_.end(); it = idle_.erase(it))
      for (void *p : it->second)
        give_(p), mapped_ -= it->first;
    if (liveSmall_ || allocator_) return;
    for (void *chunk : chunks_)
      give_(chunk), mapped_ -= kChunk;
    chunks_.clear();
    idle_.clear(); // the large ones were returned above
    chunkNext_ = nullptr, chunkLeft_ = 0;
  }

  const Take take_;
  const Give give_;
  const uint64_t total_;
  const tsr_allocator_t *const allocator_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> live_;
  std::map<size_t, std::vector<void *>> idle_; // by rounded size
  std::vector<void *> chunks_;
  size_t liveSmall_ = 0;
  char *chunkNext_ = nullptr;
  size_t chunkLeft_ = 0;
  uint64_t inUse_ = 0, mapped_ = 0; // rounded sizes; mapped_ counts chunks and large blocks
};

} // namespace tessera::gpu
