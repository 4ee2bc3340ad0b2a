// Stores of boxes from a block's shared memory, by an engine of the device. A lane waits for groups of its
// own stores: until they have read shared memory, or until tensors have their elements.
#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <cstring>

namespace tessera::emulator {

void Block::storeBox(const EmulatedTensorMap *map, const int32_t *coordinates, const void *from,
                     int32_t site) {
  constexpr uint32_t kAlign = 128; // PTX ISA, "Tensor-copy: restrictions"
  const auto offset = static_cast<uint64_t>(static_cast<const uint8_t *>(from) - shared_);
  const uint32_t bytes = bytesOf(*map);
  if (!isInShared(offset, bytes) || offset % kAlign) {
    launch_->report.add(offset % kAlign ? "E_EMU_ALIGNMENT" : "E_EMU_BOUNDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) + " stores " +
                            std::to_string(bytes) + " bytes from byte " +
                            std::to_string(static_cast<int64_t>(offset)) + " of shared memory, which has " +
                            std::to_string(sharedBytes_) +
                            " bytes; stores of boxes begin at multiples of 128");
    end();
  }
  requireAlignedBox(*map, coordinates, "stores", site);
  Lane &own = lanes_[static_cast<size_t>(running_)];
  BoxStore store{chunksOf(*map, coordinates, static_cast<uint32_t>(offset)), {}, own.storeGroups, site};
  std::erase_if(store.chunks, [](const BoxChunk &chunk) { return chunk.copied == 0; });
  if (launch_->checker)
    for (const BoxChunk &chunk : store.chunks)
      launch_->checker->startStore(chunk, site);
  ++counts_.storedBoxes;
  if (launch_->schedule.isEarly) write(store);
  own.boxStores.push_back(std::move(store));
}

void Block::read(BoxStore &store) {
  if (store.isRead) return;
  store.isRead = true;
  for (const BoxChunk &chunk : store.chunks) {
    const uint8_t *first = shared_ + chunk.offset;
    store.bytes.insert(store.bytes.end(), first, first + chunk.copied);
    if (launch_->checker) launch_->checker->endStore(chunk, store.site);
  }
}

void Block::write(BoxStore &store) {
  read(store);
  const uint8_t *next = store.bytes.data();
  for (const BoxChunk &chunk : store.chunks) {
    std::memcpy(const_cast<uint8_t *>(chunk.from), next, chunk.copied);
    next += chunk.copied;
  }
  store.chunks.clear();
}

void Block::awaitStores(int32_t pending, bool onlyReads) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  for (BoxStore &store : own.boxStores)
    if (store.group < own.storeGroups - pending) onlyReads ? read(store) : write(store);
  std::erase_if(own.boxStores, [](const BoxStore &store) { return store.isRead && store.chunks.empty(); });
}

void Block::endStores(int lane) {
  Lane &own = lanes_[static_cast<size_t>(lane)];
  for (BoxStore &store : own.boxStores) {
    if (!store.isRead) {
      launch_->report.add("E_EMU_NOT_AWAITED", {store.site, -1},
                          launch_->kernel.image->site(store.site).place() + ": " + who(lane) +
                              " ends before the store of a box has read shared memory");
      end();
    }
    write(store);
  }
  own.boxStores.clear();
}

} // namespace tessera::emulator
