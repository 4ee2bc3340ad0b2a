// Handles of the C ABI: numbers that look like pointers and are checked before anything is dereferenced.
//
// A handle holds the kind of its object, a slot and the slot's generation. A destroyed, foreign or wrong
// handle does not match its slot, so it is detected without touching freed memory. Lookup takes no lock.
#pragma once
#include "core/support/Fork.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera {

enum class HandleKind : uint8_t { Context = 1, Module, Kernel, Stream, Event, Graph, Comm };

/// Thread-safe; one instance per process.
class HandleTable {
public:
  static HandleTable &get();

  /// Returns 0 when a million objects are alive.
  uintptr_t insert(HandleKind kind, void *object);
  void erase(uintptr_t handle);

  /// Returns the object, or null.
  void *find(HandleKind kind, uintptr_t handle) const {
    if (handle >> kKindShift != static_cast<uintptr_t>(kind)) return nullptr;
    uint32_t index = static_cast<uint32_t>(handle);
    if (index >= kSlots) return nullptr;
    const Slot *chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (!chunk) return nullptr;
    const Slot &slot = chunk[index % kChunk];
    if (slot.handle.load(std::memory_order_acquire) != handle) return nullptr;
    return slot.object.load(std::memory_order_relaxed);
  }

private:
  static constexpr int kKindShift = 60, kGenerationShift = 32;
  static constexpr uint32_t kChunk = 1024, kSlots = kChunk * 1024;
  struct Slot {
    std::atomic<uintptr_t> handle{0}; // 0: free
    std::atomic<void *> object{nullptr};
    uint32_t generation = 0; // of the last handle issued for this slot; 28 bits are used
  };
  static_assert(sizeof(uintptr_t) == 8, "handles need 64 bits");

  std::mutex mutex_; // guards insert and erase
  HeldAcrossFork heldAcrossFork_{mutex_};
  std::array<std::atomic<Slot *>, kSlots / kChunk> chunks_{};
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
};

/// Returns the object of an ABI handle, or null. T names its handle type and kind: T::Handle, T::kKind.
template <class T> T *lookup(typename T::Handle handle) {
  return static_cast<T *>(HandleTable::get().find(T::kKind, reinterpret_cast<uintptr_t>(handle)));
}

} // namespace tessera
