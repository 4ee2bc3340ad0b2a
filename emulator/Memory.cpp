#include "emulator/Memory.h"
#include <cstdlib>
#include <cstring>

namespace tessera::emulator {
namespace {

constexpr size_t kAlign = 256;
constexpr size_t kPoisonedBytes = 1 << 20; // of an allocation, from its start

/// Never 0, so that every pointer is unique, with room between neighbours.
size_t reserved(size_t bytes) { return (bytes / kAlign + 2) * kAlign; }

} // namespace

Memory::~Memory() {
  for (auto [begin, bytes] : live_)
    giveBack(begin, bytes);
}

void Memory::giveBack(uint64_t begin, uint64_t bytes) {
  void *p = reinterpret_cast<void *>(begin);
  allocator_ ? allocator_->free(allocator_->user, p, reserved(bytes)) : std::free(p);
}

void *Memory::allocate(size_t bytes) {
  if (bytes > limit_) return nullptr;
  void *p = allocator_ ? allocator_->alloc(allocator_->user, reserved(bytes), kAlign)
                       : std::aligned_alloc(kAlign, reserved(bytes));
  if (!p) return nullptr;
  std::memset(p, 0xcd, std::min(bytes, kPoisonedBytes));
  std::lock_guard lock(mutex_);
  live_[reinterpret_cast<uint64_t>(p)] = bytes;
  inUse_ += bytes;
  return p;
}

bool Memory::release(void *p) {
  std::lock_guard lock(mutex_);
  auto found = live_.find(reinterpret_cast<uint64_t>(p));
  if (found == live_.end()) return false;
  giveBack(found->first, found->second);
  inUse_ -= found->second;
  live_.erase(found);
  return true;
}

std::optional<Allocation> Memory::before(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return std::nullopt;
  --after;
  return Allocation{after->first, after->second};
}

std::optional<Allocation> Memory::find(uint64_t address) const {
  const std::optional<Allocation> found = before(address);
  return found && found->holds(address, 0) ? found : std::nullopt;
}

MemoryUse Memory::use() const {
  std::lock_guard lock(mutex_);
  return {limit_, limit_ - inUse_, inUse_, 0};
}

} // namespace tessera::emulator
