// The memory of a fake device: host memory, with a list of its blocks that detects foreign pointers.
#pragma once
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>

namespace tessera::fakes {

/// Thread-safe.
class HostMemory {
public:
  HostMemory(uint64_t total, const tsr_allocator_t *allocator) : total_(total), allocator_(allocator) {}
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;
  ~HostMemory() {
    while (!blocks_.empty())
      giveBack(blocks_.begin());
  }

  tsr_status_t alloc(size_t bytes, void **out, std::string &why) {
    std::lock_guard lock(mutex_);
    if (bytes > total_ - used_) {
      why = "the fake device has " + std::to_string(total_ - used_) + " bytes left, not " +
            std::to_string(bytes);
      return TSR_EOOM;
    }
    // never 0, so that each pointer is unique
    const size_t room = (bytes + kAlignment) / kAlignment * kAlignment;
    void *block = allocator_ ? allocator_->alloc(allocator_->user, room, kAlignment)
                             : std::aligned_alloc(kAlignment, room);
    if (!block) {
      why = "the host gave no memory";
      return TSR_EOOM;
    }
    blocks_[static_cast<char *>(block)] = {bytes, room};
    used_ += bytes;
    *out = block;
    return TSR_SUCCESS;
  }

  tsr_status_t free(void *pointer, std::string &why) {
    std::lock_guard lock(mutex_);
    auto it = blocks_.find(static_cast<char *>(pointer));
    if (it == blocks_.end()) {
      why = "no allocation of the fake device begins there";
      return TSR_EINVAL;
    }
    giveBack(it);
    return TSR_SUCCESS;
  }

  std::optional<size_t> available(const void *pointer) {
    const char *at = static_cast<const char *>(pointer);
    std::lock_guard lock(mutex_);
    for (auto &[begin, block] : blocks_)
      if (at >= begin && at <= begin + block.bytes) return static_cast<size_t>(begin + block.bytes - at);
    return std::nullopt;
  }

  MemoryUse use() {
    std::lock_guard lock(mutex_);
    return {total_, total_ - used_, used_, 0};
  }

private:
  static constexpr size_t kAlignment = 64;
  struct Block {
    size_t bytes, room;
  };
  using Blocks = std::map<char *, Block>;

  void giveBack(Blocks::iterator it) {
    used_ -= it->second.bytes;
    if (allocator_)
      allocator_->free(allocator_->user, it->first, it->second.room);
    else
      std::free(it->first);
    blocks_.erase(it);
  }

  const uint64_t total_;
  const tsr_allocator_t *const allocator_;
  std::mutex mutex_; // guards the members below
  Blocks blocks_;
  uint64_t used_ = 0;
};

} // namespace tessera::fakes
