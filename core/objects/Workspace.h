// A stream's memory for the temporaries of functions. Work on a stream runs in order, so one block serves
// every call queued there.
#pragma once
#include "core/objects/CapturableStream.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>
#include <vector>

namespace tessera {

/// Grows on demand and shrinks only when released. Must be destroyed after the stream's queue and before the
/// context. A caller that queues work holds the mutex from reserve() until all of that work is queued,
/// because the steps of two functions must not interleave on a stream.
class Workspace {
public:
  std::mutex &mutex() { return mutex_; }
  /// Sets `base` to at least `bytes` bytes, aligned to 64. To grow, it waits for the stream, frees the block
  /// and allocates a larger one; if that fails it holds no block, and the next call tries again. The caller
  /// holds the mutex.
  tsr_status_t reserve(DeviceContext &, CapturableStream &, uint64_t bytes, void *&base, std::string &why);
  /// Returns a block for a graph to keep, as large as reserve() would make it.
  static tsr_status_t allocate(DeviceContext &, uint64_t bytes, std::shared_ptr<void> &out, std::string &why);
  /// Returns room for the launch values of one step. The caller holds the mutex.
  uint64_t *values(size_t count);
  /// Frees the block if no work is left on the stream and no thread is queueing. Never waits.
  void releaseIfIdle(CapturableStream &);

private:
  std::mutex mutex_;
  std::shared_ptr<void> block_; // frees itself through the context
  uint64_t bytes_ = 0;
  std::vector<uint64_t> values_;
};

} // namespace tessera
