// The memory of a stream for the temporaries of functions. Work on a stream runs in order, so one block
// serves all calls that are queued there.
#pragma once
#include "core/objects/CapturableStream.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>
#include <vector>

namespace tessera {

/// Grows, and shrinks only when released. Goes after the stream's queue and before the context. Whoever
/// queues work that uses it holds its mutex from reserve() until all of that work is queued: two functions'
/// steps may not mix on a stream.
class Workspace {
public:
  std::mutex &mutex() { return mutex_; }
  /// At least `bytes`, at `base`, aligned to 64. To grow it waits for the stream, gives the old block back
  /// and takes a new one; when there is not so much it holds none, and the next call starts afresh. Needs the
  /// mutex.
  tsr_status_t reserve(DeviceContext &, CapturableStream &, uint64_t bytes, void *&base, std::string &why);
  /// A block for a graph to keep, as large as reserve() would take.
  static tsr_status_t allocate(DeviceContext &, uint64_t bytes, std::shared_ptr<void> &out, std::string &why);
  /// Room for the launch values of one step. Needs the mutex.
  uint64_t *values(size_t count);
  /// Gives the block back if no work on the stream is left and nobody is queueing any. Never waits.
  void releaseIfIdle(CapturableStream &);

private:
  std::mutex mutex_;
  std::shared_ptr<void> block_; // gives itself back to the context
  uint64_t bytes_ = 0;
  std::vector<uint64_t> values_;
};

} // namespace tessera
