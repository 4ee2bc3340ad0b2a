#include "core/objects/Workspace.h"
#include <bit>

namespace tessera {
namespace {

/// Rounds up to a quarter of a power of two, so that slowly growing dims wait for the stream a few times
/// only.
uint64_t roundUp(uint64_t bytes) {
  constexpr uint64_t kLeast = 256, kMost = uint64_t{1} << 62;
  if (bytes <= kLeast) return kLeast;
  if (bytes > kMost) return bytes;
  uint64_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

} // namespace

tsr_status_t Workspace::allocate(DeviceContext &context, uint64_t bytes, std::shared_ptr<void> &out,
                                 std::string &why) {
  void *block = nullptr;
  if (tsr_status_t status = context.alloc(roundUp(bytes), TSR_MEM_DEVICE, &block, why)) {
    why = "the workspace for its temporaries: " + why;
    return status;
  }
  out.reset(block, [&context](void *p) {
    std::string ignored; // freeing a block that the context allocated cannot fail
    (void)context.free(p, ignored);
  });
  return TSR_SUCCESS;
}

tsr_status_t Workspace::reserve(DeviceContext &context, CapturableStream &stream, uint64_t bytes, void *&base,
                                std::string &why) {
  if (!block_ || bytes > bytes_) {
    if (block_) stream.drain();
    block_.reset();
    if (tsr_status_t status = allocate(context, bytes, block_, why)) return status;
    bytes_ = roundUp(bytes);
  }
  base = block_.get();
  return TSR_SUCCESS;
}

uint64_t *Workspace::values(size_t count) {
  if (values_.size() < count) values_.resize(count);
  return values_.data();
}

void Workspace::releaseIfIdle(CapturableStream &stream) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && stream.isIdle()) block_.reset();
}

} // namespace tessera
