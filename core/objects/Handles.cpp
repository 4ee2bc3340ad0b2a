#include "core/objects/Handles.h"
#include <algorithm>

namespace tessera {

HandleTable &HandleTable::get() {
  static HandleTable *table = new HandleTable; // never destroyed: calls may come from static destructors
  return *table;
}
[[maybe_unused]] static const HandleTable &madeHandles =
    HandleTable::get(); // when loaded: see HeldAcrossFork

uintptr_t HandleTable::insert(HandleKind kind, void *object) {
  std::lock_guard lock(mutex_);
  uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (used_ == kSlots) return 0;
    index = used_;
  }
  Slot *chunk = chunks_[index / kChunk].load(std::memory_order_relaxed);
  if (!chunk) chunks_[index / kChunk].store(chunk = new Slot[kChunk], std::memory_order_release);
  if (index == used_) {
    // so that erase does not allocate
    if (free_.capacity() <= used_) free_.reserve(std::max<size_t>(64, 2 * free_.capacity()));
    ++used_;
  }
  Slot &slot = chunk[index % kChunk];
  slot.generation = (slot.generation + 1) & 0xFFFFFFF;
  uintptr_t handle = uintptr_t{static_cast<uint8_t>(kind)} << kKindShift |
                     uintptr_t{slot.generation} << kGenerationShift | index;
  slot.object.store(object, std::memory_order_relaxed);
  slot.handle.store(handle, std::memory_order_release);
  return handle;
}

void HandleTable::erase(uintptr_t handle) {
  std::lock_guard lock(mutex_);
  uint32_t index = static_cast<uint32_t>(handle);
  Slot &slot = chunks_[index / kChunk].load(std::memory_order_relaxed)[index % kChunk];
  slot.handle.store(0, std::memory_order_release);
  slot.object.store(nullptr, std::memory_order_relaxed);
  free_.push_back(index); // does not allocate, because destructors call this: insert reserved the memory
}

} // namespace tessera
