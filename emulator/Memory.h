// The memory of an emulated device: blocks of host memory.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tessera/backend.hpp>

namespace tessera::emulator {

struct Allocation {
  uint64_t begin = 0, bytes = 0; // as they were asked for
  bool holds(uint64_t address, uint64_t size) const {
    return address >= begin && address - begin <= bytes && size <= bytes - (address - begin);
  }
};

/// Thread-safe.
class Memory {
public:
  explicit Memory(uint64_t limit, const tsr_allocator_t *allocator) : limit_(limit), allocator_(allocator) {}
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Aligned to 256; null if there is not enough. The contents are a pattern.
  void *allocate(size_t bytes);
  /// Returns false if `p` is not the start of an allocation.
  [[nodiscard]] bool release(void *p);
  /// Returns the allocation that the address is in or at the end of.
  std::optional<Allocation> find(uint64_t address) const;
  /// Returns the last allocation that begins at or before the address.
  std::optional<Allocation> before(uint64_t address) const;
  MemoryUse use() const;

private:
  void giveBack(uint64_t begin, uint64_t bytes);
  const uint64_t limit_;
  const tsr_allocator_t *const allocator_;
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> live_; // bytes by address; guarded by the mutex, like inUse_
  uint64_t inUse_ = 0;
};

} // namespace tessera::emulator
